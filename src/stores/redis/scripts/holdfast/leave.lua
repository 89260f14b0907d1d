#!lua flags=allow-oom
-- Takes a contender out of its line and passes its place on.
-- KEYS[1]: {R}. ARGV: nonce, for how many milliseconds a delayed enter of it is refused (0: not).
-- Answers state and fence: where it stood; gone when it was not there or its lease was over.

-- include layout.lua
-- include leaving.lua

return leave(KEYS, ARGV)
