-- The hold of the contender's own owner that it can join. And whether there is one that it cannot
-- join: to wait for that would be to wait for itself.
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

-- How many reads the owner has, and whether there are some that are over: who is recorded for those
-- must not be counted among new ones.
local function reads_of(lock, owner)
    local count = count_of(lock, 'r', owner)
    return count or 0, not count and redis.call('HEXISTS', lock.name, owner) == 1
end

local function judge_join(verdict, hold)
    verdict.owner, verdict.joins = hold.owner, true
    if verdict.contender.mode == 'r' then
        verdict.reads, verdict.lost = reads_of(verdict.lock, hold.owner)
    end
    return judge_unhindered(verdict, hold.fence)
end

local function judge_beside_readers(verdict)
    local lock = verdict.lock
    verdict.reads, verdict.lost = reads_of(lock, verdict.owner)
    verdict.lost = verdict.lost or redis.call('HGET', lock.holds, verdict.contender.nonce)
    return judge_unhindered(verdict)
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
        if joined then return judge_join(verdict, joined) end
        if stuck then verdict.failure = 'deadlock' end
    end
    if mode == 'r' and found[1] == 'read' and not verdict.failure then
        return judge_beside_readers(verdict)
    end
    verdict.look = redis.call('PTTL', name)
    return verdict
end

-- A key that others' leases run on as well is never cut short.
local function expire(key, lease, alone)
    if alone or redis.call('PTTL', key) < tonumber(lease) then
        redis.call('PEXPIRE', key, lease)
    end
end

-- Leases `count` reads of an owner. Whichever of them leaves takes the last key away, as Redisson
-- does: so an earlier key's lease is never shorter than a later one's.
local function lease_reads(lock, owner, count, lease)
    for read = 1, count do
        local key = timeout_key(lock, owner, read)
        if count == 1 or redis.call('PTTL', key) < tonumber(lease) then
            redis.call('SET', key, '1', 'PX', lease)
        end
    end
end

local function prolong(lock, hold, lease)
    if hold.mode == 'r' then lease_reads(lock, hold.owner, hold.count, lease) end
    local alone = is_alone(lock, hold)
    expire(lock.name, lease, alone)
    expire(lock.holds, lease, alone)
end

local function take_free(lock, mode, owner, lease)
    if mode == 'x' then
        redis.call('HSET', lock.name, owner, '1')
    else
        redis.call('HSET', lock.name, 'mode', mode == 'r' and 'read' or 'write',
                   field_of(mode, owner), '1')
    end
    if mode == 'r' then lease_reads(lock, owner, 1, lease) end
    redis.call('DEL', lock.holds)  -- nobody held the lock, so no record was true
end

local function take_beside(verdict)
    local lock, contender, owner = verdict.lock, verdict.contender, verdict.owner
    if verdict.lost then forget_all(lock, contender.mode, owner) end
    if contender.mode == 'r' then
        redis.call('HSET', lock.name, owner, verdict.reads + 1)
        lease_reads(lock, owner, verdict.reads + 1, contender.lease)
    else
        redis.call('HINCRBY', lock.name, field_of(contender.mode, owner), 1)
    end
end

local function admit(verdict)
    local lock, contender, owner = verdict.lock, verdict.contender, verdict.owner
    local lease = contender.lease
    if verdict.repeated then return prolong(lock, verdict.repeated, lease) end
    if verdict.free then
        take_free(lock, contender.mode, owner, lease)
    else
        take_beside(verdict)
    end
    expire(lock.name, lease, verdict.free)
    redis.call('HSET', lock.holds, contender.nonce,
               record_of(contender.mode .. owner, verdict.fence, contender))
    expire(lock.holds, lease, verdict.free)
    if not verdict.joins then keep_fence(lock.tag, verdict.fence) end
end
