-- The hold of the contender's owner that it can join. Beside that, whether it has one that cannot
-- be joined: waiting for that would be waiting for itself.
local function joinable(lock, contender)
    local records = redis.call('HGETALL', lock.holds)
    local stuck = false
    for i = 2, #records, 2 do
        local record = parsed(records[i])
        local hold = record and record.owner == contender.owner and believed(lock, records[i])
        if hold then
            if hold.mode == contender.mode or hold.mode == 'w' and contender.mode == 'r' then
                return hold, false
            end
            stuck = true
        end
    end
    return nil, stuck
end

local function judge(name, contender)
    local lock = lock_at(name)
    local mode, owner = contender.mode, owner_of(contender.nonce)
    local verdict = {lock = lock, tag = lock.tag, contender = contender, owner = owner}
    verdict.free = redis.call('HLEN', name) == 0
    if verdict.free then return judge_unhindered(verdict) end

    local found = redis.call('HMGET', name, 'mode', field_of(mode, owner))
    local hold = (found[2] or contender.reenter) and hold_of(lock, contender.nonce)
    if hold then
        verdict.repeated, verdict.fence = hold, hold.fence
        return verdict
    end
    if contender.reenter then
        local joined, stuck = joinable(lock, contender)
        if joined then
            verdict.owner, verdict.joined = joined.owner, joined
            verdict.reads = mode == 'r' and count_of(lock, 'r', joined.owner)
            return judge_unhindered(verdict, joined.fence)
        end
        if stuck then
            verdict.failure = 'deadlock'
            return verdict
        end
    end
    if mode == 'r' and found[1] == 'read' then
        verdict.reads = count_of(lock, 'r', owner)
        return judge_unhindered(verdict)
    end
    verdict.look = redis.call('PTTL', name)
    return verdict
end

-- Lengthens the leases of a field's reads to at least this. So that of the first is the longest,
-- and the last, whose key goes with whichever of them leaves, is missed by nobody.
local function count_read(lock, owner, count, lease)
    for i = 1, count do
        local key = timeout_key(lock, owner, i)
        if redis.call('PTTL', key) < tonumber(lease) then
            redis.call('SET', key, '1', 'PX', lease)
        end
    end
end

-- Others' leases run on the same key, so it is never cut short for them.
local function expire_later(key, lease)
    if redis.call('PTTL', key) < tonumber(lease) then redis.call('PEXPIRE', key, lease) end
end

local function prolong(lock, hold, lease)
    if hold.mode == 'r' then
        if hold.count == 1 then
            redis.call('PEXPIRE', timeout_key(lock, hold.owner, 1), lease)
        else
            count_read(lock, hold.owner, hold.count, lease)
        end
    end
    if is_alone(lock, hold) then
        redis.call('PEXPIRE', lock.name, lease)
        redis.call('PEXPIRE', lock.holds, lease)
    else
        expire_later(lock.name, lease)
        expire_later(lock.holds, lease)
    end
end

-- Counts up, and gives whether it left stale records on its field: of reads that were over.
local function count_up(lock, mode, owner, verdict)
    if mode ~= 'r' then
        redis.call('HINCRBY', lock.name, field_of(mode, owner), 1)
        return false
    end
    local count = (verdict.reads or 0) + 1
    local is_new = redis.call('HSET', lock.name, owner, count) == 1
    count_read(lock, owner, count, verdict.contender.lease)
    return not is_new and not verdict.reads
end

local function take_free(lock, mode, owner, lease)
    if mode == 'x' then
        redis.call('HSET', lock.name, owner, '1')
    else
        redis.call('HSET', lock.name, 'mode', mode == 'r' and 'read' or 'write',
                   field_of(mode, owner), '1')
    end
    if mode == 'r' then redis.call('SET', timeout_key(lock, owner, 1), '1', 'PX', lease) end
    redis.call('PEXPIRE', lock.name, lease)
end

local function admit(verdict)
    local lock, contender, owner = verdict.lock, verdict.contender, verdict.owner
    local mode, nonce, lease = contender.mode, contender.nonce, contender.lease
    if verdict.repeated then return prolong(lock, verdict.repeated, lease) end

    local record = record_of(mode .. owner, verdict.fence, contender)
    if verdict.free then
        take_free(lock, mode, owner, lease)
        redis.call('DEL', lock.holds)  -- nobody held the lock, so no record was true
        redis.call('HSET', lock.holds, nonce, record)
        redis.call('PEXPIRE', lock.holds, lease)
    else
        local stale = count_up(lock, mode, owner, verdict)
        expire_later(lock.name, lease)
        local had_record = redis.call('HSET', lock.holds, nonce, record) == 0
        expire_later(lock.holds, lease)
        -- It had a hold before, and lost it. Who had joined that one has no part in this one.
        if stale or had_record and not verdict.joined then forget_all(lock, mode, owner, nonce) end
    end
    if not verdict.joined then keep_fence(lock.tag, verdict.fence) end
end
