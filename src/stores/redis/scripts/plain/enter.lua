#!lua
-- include ../beside.lua
-- include ../beside_record.lua
-- include ../beside_taking.lua
-- include ../beside_enter.lua
-- include lock.lua
-- include taking.lua

return enter(judge, admit, function(verdict) redis.call('DEL', verdict.name, verdict.holds) end)
