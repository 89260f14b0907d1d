#!lua
-- include ../beside.lua
-- include lock.lua
-- include taking.lua
-- include leaving.lua

return enter(judge, admit, function(verdict)
    count_down(verdict.lock, verdict.repeated, verdict.contender.nonce)
end)
