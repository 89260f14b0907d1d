-- Redisson listens with SSUBSCRIBE on a cluster, with SUBSCRIBE elsewhere. Where an ACL forbids the
-- channel, waiters find out when they look again.
local function publish(channel, message)
    redis.pcall('PUBLISH', channel, message)
    redis.pcall('SPUBLISH', channel, message)
end

-- The messages are Redisson's: 0 wakes one waiter, 1 all of them.
local function publish_end(lock, mode)
    if mode == 'x' then
        publish('redisson_lock__channel:' .. lock.tag, '0')
    else
        publish('redisson_rwlock:' .. lock.tag, mode == 'w' and '1' or '0')
    end
end

local function delete(lock, hold)
    redis.call('DEL', lock.name, lock.holds)
    publish_end(lock, hold.mode)
    return true
end

-- The longest lease of all reads on the lock, ours and others', and whether somebody writes.
local function look_at_others(lock)
    local fields = redis.call('HGETALL', lock.name)
    local longest, writing = 0, false
    for i = 1, #fields, 2 do
        local owner, count = fields[i], tonumber(fields[i + 1])
        if string.sub(owner, -6) == ':write' then
            writing = true
        elseif count then
            longest = math.max(longest, read_lease_left(lock, owner, count))
        end
    end
    return longest, writing
end

-- So many leases are looked at by one script at most: the server does nothing else meanwhile. A
-- lock with more readers keeps its expiry when one of them leaves. It is never too short, and too
-- long only when all the others are dead.
local MOST_LEASES = 500

-- Takes the hold's field away, whatever its count. Gives whether the lock went with it: what others
-- have on it lives on.
local function remove(lock, hold)
    local fields = redis.call('HLEN', lock.name)
    for read = 1, hold.mode == 'r' and math.min(hold.count, MOST_READS) or 0 do
        redis.call('DEL', timeout_key(lock, hold.owner, read))
    end
    if hold.mode == 'x' or fields == 2 then return delete(lock, hold) end
    redis.call('HDEL', lock.name, field_of(hold.mode, hold.owner))
    if hold.mode == 'r' and fields > MOST_LEASES then return false end
    local longest, writing = look_at_others(lock)
    if writing then return false end  -- the lock's lease is the writer's, and not to be cut short
    if longest == 0 then return delete(lock, hold) end
    redis.call('PEXPIRE', lock.name, longest)
    if hold.mode == 'w' then
        redis.call('HSET', lock.name, 'mode', 'read')
        publish_end(lock, 'w')
    end
    return false
end

local function count_down(lock, hold, nonce)
    if hold.count > 1 then
        redis.call('HINCRBY', lock.name, field_of(hold.mode, hold.owner), -1)
        if hold.mode == 'r' then redis.call('DEL', timeout_key(lock, hold.owner, hold.count)) end
    elseif remove(lock, hold) then
        return
    end
    redis.call('HDEL', lock.holds, nonce)
end
