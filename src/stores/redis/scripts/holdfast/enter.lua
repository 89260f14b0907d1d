#!lua
-- Puts contenders into their lines, in order, up to the first that is not admitted.
-- KEYS: two or seven of each, see layout.lua. ARGV, for each: the entrant as a lone line has it,
-- from its nonce on; its lease less one, in milliseconds; 'w' or 'n', its patience, and '0' or '1',
-- whether it joins its owner's hold.
-- Answers, for each looked at: state, ticket, fence, look; or a fence alone, of one that is
-- admitted with the first ticket. When the last of them is gone (busy, and it does not wait), or
-- one is refused, nothing of this request is left in any line.
-- No allow-oom: without memory it is refused before it did anything.

-- include ../clock.lua
if #ARGV == 3 then
    local line_key, fence_key, entrant, lifetime = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
    -- include quiet_enter.lua
end

local function go_long_way()
    -- include layout.lua
    -- include line.lua
    -- include moving.lua
    -- include entering.lua
    local keys, count = {}, 3 * #KEYS / #ARGV
    for i = 1, #KEYS, count do keys[#keys + 1] = keys_at(i, count) end
    return enter(keys, ARGV)
end
return go_long_way()
