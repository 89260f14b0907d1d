-- Redisson's locks are HASHes. RLock: <owner> -> count. ReadWriteLock: `mode` -> read or write,
-- <owner> -> reads, <owner>:write -> writes, and beside it a STRING for each read, whose expiry is
-- that read's lease. Our owner is made of the nonce of who came first; who joins it by re-entry
-- counts on the same field. So a record calls its hold by mode letter and owner: `x<owner>`.

local function lock_at(name)
    local tag, holds = tag_and_holds(name)
    return {name = name, tag = tag, holds = holds}
end

-- All that may be done to the lock and beside it once something is written, but for the strings.
local function need_rights(lock)
    need('HGETALL', lock.name)
    need('PTTL', lock.name)
    need('HSET', lock.name)
    need('HINCRBY', lock.name)
    need('HDEL', lock.name)
    need('PEXPIRE', lock.name)
    need('DEL', lock.name, lock.holds)
end

local function field_of(mode, owner) return mode == 'w' and owner .. ':write' or owner end

local function timeout_key(lock, owner, i)
    return lock.tag .. ':' .. owner .. ':rwlock_timeout:' .. i
end

-- So many leases of one owner are looked at, and prolonged: anybody may have written how often it
-- reads, any number, and the server does nothing else meanwhile.
local MOST_READS = 64

-- The longest lease of an owner's reads; 0 when all are over. Its field on the lock does not tell,
-- for that of a dead reader stays. Where not all are looked at, any of them may have the lock's.
local function read_lease_left(lock, owner, count)
    if count > MOST_READS then return redis.call('PTTL', lock.name) end
    local longest = 0
    for read = 1, count do
        longest = math.max(longest, redis.call('PTTL', timeout_key(lock, owner, read)))
    end
    return longest
end
