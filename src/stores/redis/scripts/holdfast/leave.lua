#!lua flags=allow-oom
-- Takes a contender out of its line and passes its place on.
-- KEYS: two or seven, see layout.lua. ARGV: nonce, for how many milliseconds a delayed enter of it is
-- refused (0: not).
-- Answers where it stood, its state; gone when it was not there or its lease was over.

local line_key, nonce = KEYS[1], ARGV[1]
local line = redis.call('GET', line_key)
if ARGV[2] == '0' then
    -- include quiet_leave.lua
end

local function go_long_way()
    -- include ../clock.lua
    -- include layout.lua
    -- include hand_over.lua
    local keys = keys_at(1, #KEYS)
    local left = hand_over(keys, ARGV, line)
    if left then return left end

    local stored = line
    -- include line.lua
    -- include moving.lua
    -- include leaving.lua
    return leave(keys, ARGV, stored)
end
return go_long_way()
