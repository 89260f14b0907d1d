-- Taking a lock that somebody may have.

-- The hold of the contender's own owner that it can join. And whether there is one that it cannot
-- join: to wait for that would be to wait for itself.
local function joinable(lock, contender)
    local records = redis.call('HGETALL', lock.holds)
    local its_host_size, its_text = string.match(contender.who, '^ %d+ (%d+) (.*)$')
    local its_owner = string.sub(its_text, its_host_size + 1)
    local stuck = false
    for i = 2, #records, 2 do
        local host_size, text = string.match(records[i], '^%S+ %d+ %d+ %d+ %d+ (%d+) (.*)$')
        local hold = text and string.sub(text, host_size + 1) == its_owner and
                     believed(lock, records[i])
        if hold then
            if hold.mode == contender.mode or hold.mode == 'w' and contender.mode == 'r' then
                return hold, false
            end
            stuck = true
        end
    end
    return nil, stuck
end

-- How many reads the owner has, and whether it had some that are over: who is recorded for those
-- must not be counted among new ones.
local function reads_of(lock, owner)
    local count = count_of(lock, 'r', owner)
    return count or 0, not count and redis.call('HEXISTS', lock.name, owner) == 1
end

local function judge_joining(verdict, hold)
    local lock = verdict.lock
    verdict.owner, verdict.joins = hold.owner, true
    if verdict.contender.mode == 'r' then
        verdict.reads, verdict.lost = reads_of(lock, hold.owner)
    end
    return judge_unhindered(verdict, lock.tag, hold.fence)
end

local function judge_beside_readers(verdict)
    local lock = verdict.lock
    verdict.reads, verdict.lost = reads_of(lock, verdict.owner)
    verdict.lost = verdict.lost or redis.call('HGET', lock.holds, verdict.contender.nonce)
    return judge_unhindered(verdict, lock.tag)
end

local function judge(name, contender)
    local lock = lock_at(name)
    if redis.call('HLEN', name) == 0 then return judge_free(lock, contender) end

    local mode, owner = contender.mode, owner_of(contender.nonce)
    local verdict = {lock = lock, contender = contender, owner = owner}
    local found = redis.call('HMGET', name, 'mode', field_of(mode, owner))
    local hold = (found[2] or contender.reenter or contender.believes == 'h') and
                 hold_of(lock, contender.nonce)
    need_rights(lock)
    if mode == 'r' then need('SET', timeout_key(lock, owner, 1)) end
    if hold then
        verdict.repeated, verdict.fence = hold, hold.fence
        verdict.late = is_late(contender, hold.record)
        return verdict
    end
    if contender.reenter then
        local joined, stuck = joinable(lock, contender)
        if joined then return judge_joining(verdict, joined) end
        if stuck then verdict.failure = 'deadlock' end
    end
    if mode == 'r' and found[1] == 'read' and not verdict.failure then
        return judge_beside_readers(verdict)
    end
    verdict.look = redis.call('PTTL', name)
    return verdict
end

-- Leases `count` reads of an owner, and no more than MOST_READS. Whichever of them leaves takes the last key away, as Redisson
-- does: so an earlier key's lease is never shorter than a later one's, and only one that is alone
-- may be cut short.
local function lease_reads(lock, owner, count, lease, alone)
    for read = 1, math.min(count, MOST_READS) do
        local key = timeout_key(lock, owner, read)
        if alone or redis.call('PTTL', key) < tonumber(lease) then
            redis.call('SET', key, '1', 'PX', lease)
        end
    end
end

-- A key that others' leases run on as well is never cut short.
local function expire(key, lease, alone)
    if alone or redis.call('PTTL', key) < tonumber(lease) then
        redis.call('PEXPIRE', key, lease)
    end
end

-- A copy of its enter may come after any renewal, and cuts nothing short.
local function prolong(lock, hold, contender)
    local lease = contender.lease
    local single = hold.count == 1 and contender.serial
    local alone = single and (hold.mode == 'x' or redis.call('HLEN', lock.name) == 2)
    redis.call('HSET', lock.holds, contender.nonce, renewed_record(contender, hold.record))
    expire(lock.holds, lease, alone)
    if hold.mode == 'r' then lease_reads(lock, hold.owner, hold.count, lease, single) end
    expire(lock.name, lease, alone)
end

local function admit(verdict)
    local lock, contender, owner = verdict.lock, verdict.contender, verdict.owner
    local mode, lease = contender.mode, contender.lease
    if verdict.free then return admit_free(verdict) end
    if verdict.repeated then return prolong(lock, verdict.repeated, contender) end

    if verdict.lost then forget_all(lock, mode, owner) end
    local fence = verdict.joins and string.format('%.0f', verdict.fence) or
                  keep_fence(lock.tag, verdict.fence)
    redis.call('HSET', lock.holds, contender.nonce, record_of(mode .. owner, fence, verdict))
    expire(lock.holds, lease)
    if mode == 'r' then
        lease_reads(lock, owner, verdict.reads + 1, lease, verdict.reads == 0)
        redis.call('HSET', lock.name, owner, verdict.reads + 1)
    else
        redis.call('HINCRBY', lock.name, field_of(mode, owner), 1)
    end
    expire(lock.name, lease)
end
