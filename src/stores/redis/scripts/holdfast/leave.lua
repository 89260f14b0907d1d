#!lua flags=allow-oom
-- Takes a contender out of its line and passes its place on.
-- KEYS: six. ARGV: nonce, for how many milliseconds a delayed enter of it is refused (0: not).
-- Answers state and fence: where it stood; gone when it was not there or its lease was over. Or a
-- fence alone, of one that was admitted.

-- include quiet_leave.lua
local stored = redis.call('GET', KEYS[1])
if ARGV[2] == '0' then
    local fence = leave_quietly(KEYS[1], stored, ARGV[1])
    if fence then return fence end
end

-- include ../clock.lua
-- include layout.lua
-- include hand_over.lua
local left = hand_over(KEYS, ARGV, stored)
if left then return left end

-- include line.lua
-- include moving.lua
-- include leaving.lua
return leave(KEYS, ARGV, stored)
