#!lua
-- include ../beside.lua
-- include lock.lua

return enter(judge, admit, function(verdict) redis.call('DEL', verdict.name, verdict.holds) end)
