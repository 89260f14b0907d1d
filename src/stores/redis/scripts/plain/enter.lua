#!lua
-- include ../clock.lua
-- include ../beside.lua
-- include lock.lua
-- include quiet_enter.lua
if #KEYS == 1 then
    local fence = enter_quietly(KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
    if fence then return fence end
end

-- include ../beside_record.lua
-- include ../beside_enter.lua
-- include taking.lua

return enter(judge, admit, function(verdict) redis.call('DEL', verdict.name) end)
