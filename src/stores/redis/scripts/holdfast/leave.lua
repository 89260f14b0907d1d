#!lua flags=allow-oom
-- Takes a contender out of its line and passes its place on.
-- KEYS[1]: {R}. ARGV: nonce, for how many milliseconds a delayed enter of it is refused (0: not).
-- Answers state and fence: where it stood; gone when it was not there or its lease was over.

-- include layout.lua

local key, nonce, tombstone_time = KEYS[1], ARGV[1], ARGV[2]

local function plant_tombstone()
    if tombstone_time == '0' then return end
    -- With GET it refuses to overwrite what is no tombstone.
    redis.call('SET', key .. ':left:' .. nonce, '', 'PX', tombstone_time, 'GET')
end

-- The usual case: a holder leaves a quiet line, and nobody has joined its hold.
local found = redis.call('HMGET', key, 'head', nonce)
if found[2] then
    local capacity, fairness, held, waiting, holders, joined, waiters, next_ticket, earliest_end,
        expiry = cmsgpack.unpack(found[1])
    if waiters == 0 and now < earliest_end and joined == 0 then
        local phase, _, weight, fence = cmsgpack.unpack(found[2])
        plant_tombstone()
        if holders == 1 then
            redis.call('DEL', key)
        else
            redis.call('HSET', key,
                'head', cmsgpack.pack(capacity, fairness, held - weight, waiting, holders - 1,
                    joined, waiters, next_ticket, earliest_end, expiry))
            redis.call('HDEL', key, nonce)
        end
        return { phase == 'admitted' and ADMITTED or OFFERED, fence }
    end
end

-- include line.lua
-- include moving.lua

local line = open(key, { nonce }, found)
local one = line.known[nonce]
plant_tombstone()
if not one then return { GONE, 0 } end

local state = GONE
if one.lease_end > now then
    state = one.phase == 'admitted' and ADMITTED or one.phase == 'offered' and OFFERED or WAITING
end
take_out(line, one)
save(line)
return { state, state == ADMITTED and one.fence or 0 }
