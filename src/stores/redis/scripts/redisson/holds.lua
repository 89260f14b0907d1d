-- How often the owner holds the lock in that mode; nil when it does not. The first read's lease is
-- never shorter than those of the reads that joined it (see `lease_reads`): with it, all are over.
local function count_of(lock, mode, owner)
    local found = redis.call('HMGET', lock.name, 'mode', field_of(mode, owner))
    local fits = mode == 'x' and not found[1] or mode == 'w' and found[1] == 'write' or
                 mode == 'r' and found[1]
    local count = fits and found[2] and tonumber(found[2])
    if mode == 'r' and count and not redis.call('GETEX', timeout_key(lock, owner, 1)) then
        return nil
    end
    return count
end

-- The hold that a record tells of, when the lock agrees.
local function believed(lock, record)
    local mode, owner, fence = string.match(record, '^(%l)(%S+) (%d+) ')
    local count = mode and count_of(lock, mode, owner)
    return count and {
        mode = mode, owner = owner, count = count, fence = tonumber(fence), record = record,
    }
end

local function hold_of(lock, nonce)
    local record = redis.call('HGET', lock.holds, nonce)
    return record and believed(lock, record)
end

-- Forgets all of ours on that field. Gives the fence that they had, 0 when there was none.
local function forget_all(lock, mode, owner)
    local fence = 0
    local records = redis.call('HGETALL', lock.holds)
    for i = 1, #records, 2 do
        local hold, its_fence = string.match(records[i + 1], '^(%S+) (%d+) ')
        if hold == mode .. owner then
            redis.call('HDEL', lock.holds, records[i])
            fence = tonumber(its_fence)
        end
    end
    return fence
end
