-- Completes the verdict on one that nothing is in the way of: see beside_taking.lua.
local function judge_unhindered(verdict, beside)
    if redis.call('GETEX', 'holdfast_left:' .. verdict.tag .. ':' .. verdict.contender.nonce) then
        verdict.failure = 'withdrawn'
        return verdict
    end
    local last, left_until = taken_apart(beside)
    verdict.left_until = left_until and left_until > microseconds and left_until or 0
    if last and last < 9007199254740991 then  -- 2^53 - 1: beyond it doubles skip numbers
        verdict.fence = math.max(last + 1, microseconds)
    else
        verdict.failure, verdict.planted = 'fence', string.sub(beside, 1, 16)
    end
    return verdict
end

local function judge(name, contender)
    local tag, holds = tag_and_holds(name)
    local verdict = {
        name = name, tag = tag, holds = holds, contender = contender, fence = false,
        now = microseconds,
    }
    local value = redis.call('GET', name)
    if value and value ~= contender.nonce then
        verdict.look = redis.call('PTTL', name)
        return verdict
    end
    need('SET', name)
    need('SET', holds)
    local fence, record, beside = fence_beside(holds, contender.nonce)
    verdict.repeated = value ~= false
    if value and fence then
        need('PEXPIRE', name)
        verdict.fence, verdict.record, verdict.beside = fence, record, beside
        verdict.late = is_late(contender, record)
        return verdict
    end
    -- If it is there, its record was evicted. Nobody was between, so a new fence is as good.
    return judge_unhindered(verdict, beside)
end

-- The record lasts longer than the lease, and than a day and an hour: see quiet_enter.lua.
local function write_beside(verdict, numbers, record)
    local lifetime = verdict.contender.lease + 90001000 +
        math.max(0, math.floor((verdict.fence - microseconds) / 1000))
    redis.call('SET', verdict.holds, numbers .. record, 'PX', string.format('%.0f', lifetime))
end

-- A copy of its enter may come after any renewal, and cuts nothing short.
local function prolong(verdict)
    local name, contender = verdict.name, verdict.contender
    local is_enter = not contender.serial
    if is_enter and redis.call('PTTL', name) >= tonumber(contender.lease) then return end
    write_beside(verdict, string.sub(verdict.beside, 1, 32),
                 renewed_record(contender, verdict.record))
    redis.call('PEXPIRE', name, contender.lease)
end

-- The lock itself comes last.
local function admit(verdict)
    if verdict.record then return prolong(verdict) end
    local contender, fence = verdict.contender, string.format('%016.0f', verdict.fence)
    write_beside(verdict, fence .. string.format('%016.0f', verdict.left_until),
                 record_of(contender.nonce, fence, verdict))
    redis.call('SET', verdict.name, contender.nonce, 'PX', contender.lease)
end
