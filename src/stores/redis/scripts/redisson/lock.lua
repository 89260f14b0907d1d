-- Redisson's locks are HASHes. RLock: <owner> -> count. ReadWriteLock: `mode` -> read or write,
-- <owner> -> reads, <owner>:write -> writes, and beside it a STRING for each read, whose expiry is
-- that read's lease. Our owner is made of the nonce of who came first; who joins it by re-entry
-- counts on the same field. So our records say which field, as mode letter and owner: `x<owner>`.

local function lock_at(name)
    local tag, holds = tag_and_holds(name)
    return {name = name, tag = tag, holds = holds}
end

local function owner_of(nonce)
    return (string.gsub(nonce, '^(........)(....)(....)(....)(............)$', '%1-%2-%3-%4-%5:1'))
end

local function field_of(mode, owner) return mode == 'w' and owner .. ':write' or owner end

local function timeout_key(lock, owner, i)
    return lock.tag .. ':' .. owner .. ':rwlock_timeout:' .. i
end

-- The longest lease of an owner's reads; not above 0 when all are over. A dead reader's field stays
-- on the lock, so its leases alone tell.
local function read_lease_left(lock, owner, count)
    local longest = 0
    for read = 1, count do
        longest = math.max(longest, redis.call('PTTL', timeout_key(lock, owner, read)))
    end
    return longest
end

-- How often the owner holds the lock in that mode; nil when it does not. The first read's lease is
-- never shorter than those of the reads that joined it (see `lease_reads`): with it, all are over.
local function count_of(lock, mode, owner)
    local found = redis.call('HMGET', lock.name, 'mode', field_of(mode, owner))
    local fits = mode == 'x' and not found[1] or mode == 'w' and found[1] == 'write' or
                 mode == 'r' and found[1]
    local count = fits and found[2] and tonumber(found[2])
    if not count or mode == 'r' and not read_quietly(timeout_key(lock, owner, 1)) then return nil end
    return count
end

-- The hold that a record tells of, when the lock agrees.
local function believed(lock, record)
    local hold, fence = gist_of(record)
    if not hold then return nil end
    local mode, owner = string.sub(hold, 1, 1), string.sub(hold, 2)
    local count = count_of(lock, mode, owner)
    return count and {mode = mode, owner = owner, count = count, fence = fence}
end

local function hold_of(lock, nonce)
    local record = redis.call('HGET', lock.holds, nonce)
    return record and believed(lock, record)
end

-- Nobody else is on the lock: neither joined, nor another reader.
local function is_alone(lock, hold)
    return hold.count == 1 and (hold.mode == 'x' or redis.call('HLEN', lock.name) == 2)
end

-- Forgets all of ours on that field. Gives the fence that they had, 0 when there was none.
local function forget_all(lock, mode, owner)
    local fence = 0
    local records = redis.call('HGETALL', lock.holds)
    for i = 1, #records, 2 do
        local hold, its_fence = gist_of(records[i + 1])
        if hold == mode .. owner then
            redis.call('HDEL', lock.holds, records[i])
            fence = its_fence
        end
    end
    return fence
end
