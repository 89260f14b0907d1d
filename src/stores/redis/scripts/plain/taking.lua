local function judge(name, contender)
    local tag, holds = tag_and_holds(name)
    local verdict = {
        name = name, tag = tag, holds = holds, contender = contender, fence = false, now = 0,
    }
    local value = redis.call('GET', name)
    if value == contender.nonce then
        verdict.repeated = true
        verdict.recorded = fence_beside(holds, value)
        verdict.fence = verdict.recorded
        if verdict.recorded then return verdict end
        -- Its record was evicted. Nobody was between, so a new fence is as good.
    elseif value then
        verdict.look = redis.call('PTTL', name)
        return verdict
    end
    return judge_unhindered(verdict, tag)
end

local function admit(verdict)
    local name, holds, contender = verdict.name, verdict.holds, verdict.contender
    if verdict.recorded then
        redis.call('PEXPIRE', name, contender.lease)
        redis.call('PEXPIRE', holds, contender.lease)
    else
        redis.call('SET', name, contender.nonce, 'PX', contender.lease)
        local fence = keep_fence(verdict.tag, verdict.fence)
        redis.call('SET', holds, record_of(contender.nonce, fence, verdict), 'PX', contender.lease)
    end
end
