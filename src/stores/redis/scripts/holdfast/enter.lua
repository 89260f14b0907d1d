#!lua
-- Puts contenders into their lines, in order, up to the first that is not admitted.
-- KEYS: {R} of each. ARGV, for each: nonce, who it is (client, owner, host and pid as they are
-- stored), weight, capacity, fairness ('f', 'b'), patience ('w', 'n'), lease in milliseconds,
-- reenter ('0', '1').
-- Answers, for each looked at: state, ticket, fence, look. When the last of them is gone (busy,
-- and it does not wait), or one is refused, nothing of this request is left in any line.
-- No allow-oom: without memory it is refused before it did anything.

-- include layout.lua
-- include entering.lua

return enter(KEYS, ARGV)
