#!lua
-- include ../names.lua
-- include ../beside.lua
-- include ../beside_record.lua
-- include ../beside_taking.lua
-- include ../beside_enter.lua
-- include lock.lua
-- include free.lua

-- The common case, before the rest is even set up.
if #KEYS == 1 and redis.call('HLEN', KEYS[1]) == 0 then
    local verdict = judge_free(lock_at(KEYS[1]), contender_at(1))
    if verdict.failure then return {verdict.failure, 0, verdict.planted} end
    admit_free(verdict)
    return {admitted, 1, verdict.fence, -1}
end

-- include holds.lua
-- include taking.lua
-- include leaving.lua

return enter(judge, admit, function(verdict)
    count_down(verdict.lock, verdict.repeated, verdict.contender.nonce)
end)
