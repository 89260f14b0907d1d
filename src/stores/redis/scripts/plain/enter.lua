#!lua
-- include ../clock.lua
-- include ../names.lua
local NO_TOMBSTONE = '0000000000000000'
if #KEYS == 1 then
    local name, nonce, who, lease = KEYS[1], ARGV[2], ARGV[3], ARGV[4]
    -- include quiet_enter.lua
end

local function go_long_way()
    -- include ../beside.lua
    -- include ../beside_record.lua
    -- include ../beside_enter.lua
    -- include lock.lua
    -- include taking.lua

    return enter(judge, admit, function(verdict) redis.call('DEL', verdict.name) end)
end
return go_long_way()
