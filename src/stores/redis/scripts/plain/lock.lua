-- The lock is a STRING that names its holder: ours by its nonce. The record of our holder is a
-- STRING too, and is true while it names the lock's value.

local function fence_beside(holds, nonce)
    local record = read_quietly(holds)
    if not record then return nil end
    local holder, fence = gist_of(record)
    return holder == nonce and fence or nil
end

local function judge(name, contender)
    local tag, holds = tag_and_holds(name)
    local verdict = {name = name, tag = tag, holds = holds, contender = contender}
    local value = redis.call('GET', name)
    if value == contender.nonce then
        verdict.repeated = true
        verdict.fence = fence_beside(holds, value)
        verdict.recorded = verdict.fence
        if verdict.recorded then return verdict end
        -- Its record was evicted. Nobody was between, so a new fence is as good.
    elseif value then
        verdict.look = redis.call('PTTL', name)
        return verdict
    end
    return judge_unhindered(verdict)
end

local function admit(verdict)
    local name, holds, contender = verdict.name, verdict.holds, verdict.contender
    if verdict.recorded then
        redis.call('PEXPIRE', name, contender.lease)
        redis.call('PEXPIRE', holds, contender.lease)
    else
        redis.call('SET', name, contender.nonce, 'PX', contender.lease)
        redis.call('SET', holds, record_of(contender.nonce, verdict.fence, contender), 'PX',
                   contender.lease)
        keep_fence(verdict.tag, verdict.fence)
    end
end
