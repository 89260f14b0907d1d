-- Taking a lock that nobody has.

local function owner_of(nonce)
    return (string.gsub(nonce, '^(........)(....)(....)(....)(............)$', '%1-%2-%3-%4-%5:1'))
end

local function judge_free(lock, contender)
    need_rights(lock)
    if contender.mode == 'r' then need('SET', timeout_key(lock, owner_of(contender.nonce), 1)) end
    return judge_unhindered({
        lock = lock, contender = contender, owner = owner_of(contender.nonce), free = true,
        fence = false, now = 0,
    }, lock.tag)
end

-- The lock itself comes last.
local function admit_free(verdict)
    local lock, contender, owner = verdict.lock, verdict.contender, verdict.owner
    local mode, lease = contender.mode, contender.lease
    local fence = keep_fence(lock.tag, verdict.fence)
    redis.call('DEL', lock.holds)  -- nobody held the lock, so no record was true
    redis.call('HSET', lock.holds, contender.nonce, record_of(mode .. owner, fence, verdict))
    redis.call('PEXPIRE', lock.holds, lease)
    if mode == 'r' then redis.call('SET', timeout_key(lock, owner, 1), '1', 'PX', lease) end
    if mode == 'x' then
        redis.call('HSET', lock.name, owner, '1')
    else
        redis.call('HSET', lock.name, 'mode', mode == 'r' and 'read' or 'write',
                   field_of(mode, owner), '1')
    end
    redis.call('PEXPIRE', lock.name, lease)
end
