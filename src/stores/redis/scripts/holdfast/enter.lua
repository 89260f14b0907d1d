#!lua
-- Puts contenders into their lines, in order, up to the first that is not admitted.
-- KEYS: six of each. ARGV, for each: the entrant as a lone line has it, from its nonce on; its
-- lease less one, in milliseconds; 'w' or 'n', its patience, and '0' or '1', whether it joins its
-- owner's hold.
-- Answers, for each looked at: state, ticket, fence, look; or a fence alone, of one that is
-- admitted with the first ticket. When the last of them is gone (busy, and it does not wait), or
-- one is refused, nothing of this request is left in any line.
-- No allow-oom: without memory it is refused before it did anything.

-- include ../clock.lua
if #KEYS == 6 then
    local line_key, fence_key, entrant, lifetime = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
    -- include quiet_enter.lua
end

local function go_long_way()
    -- include layout.lua
    -- include line.lua
    -- include moving.lua
    -- include entering.lua
    return enter(KEYS, ARGV)
end
return go_long_way()
