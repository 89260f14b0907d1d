local function judge(name, contender)
    local tag, holds = tag_and_holds(name)
    local verdict = {
        name = name, tag = tag, holds = holds, contender = contender, fence = false, now = 0,
    }
    local value = redis.call('GET', name)
    if value == contender.nonce then
        verdict.repeated = true
        verdict.fence, verdict.record = fence_beside(holds, value)
        if verdict.record then
            verdict.late = is_late(contender, verdict.record)
            need('SET', holds)
            need('PEXPIRE', name)
            return verdict
        end
        -- Its record was evicted. Nobody was between, so a new fence is as good.
    elseif value then
        verdict.look = redis.call('PTTL', name)
        return verdict
    end
    need('SET', name)
    need('SET', holds)
    return judge_unhindered(verdict, tag)
end

-- A copy of its enter may come after any renewal, and cuts nothing short.
local function prolong(verdict)
    local name, contender = verdict.name, verdict.contender
    local is_enter = not contender.serial
    if is_enter and redis.call('PTTL', name) >= tonumber(contender.lease) then return end
    redis.call('SET', verdict.holds, renewed_record(contender, verdict.record), 'PX',
               contender.lease)
    redis.call('PEXPIRE', name, contender.lease)
end

-- The lock itself comes last.
local function admit(verdict)
    if verdict.record then return prolong(verdict) end
    local contender = verdict.contender
    local fence = keep_fence(verdict.tag, verdict.fence)
    redis.call('SET', verdict.holds, record_of(contender.nonce, fence, verdict), 'PX',
               contender.lease)
    redis.call('SET', verdict.name, contender.nonce, 'PX', contender.lease)
end
