-- How a contender leaves: see leave.lua for keys, args and the answer. Needs layout.lua.
local function leave(keys, args)
    local key, nonce, tombstone_time = keys[1], args[1], args[2]

    local function plant_tombstone()
        if tombstone_time == '0' then return end
        -- With GET it refuses to overwrite what is no tombstone.
        redis.call('SET', key .. ':left:' .. nonce, '', 'PX', tombstone_time, 'GET')
    end

    -- The usual case: a holder leaves a quiet line, and nobody has joined its hold.
    local found = redis.call('HMGET', key, 'head', 'fence', 'expiry', nonce)
    local head, _, _, known = unpack(found)
    if known then
        local capacity, fairness, held, waiting, holders, joined, waiters, next_ticket,
            earliest_end, waiters_expiry = cmsgpack.unpack(head)
        if waiters == 0 and now < earliest_end and joined == 0 then
            local _, phase, _, weight, fence = cmsgpack.unpack_limit(known, 4)
            if holders > 1 or tombstone_time ~= '0' then
                need('HSET', key)
                need('HDEL', key)
            end
            plant_tombstone()
            if holders == 1 then
                redis.call('HDEL', key, 'head', nonce)
            else
                redis.call('HSET', key,
                    'head', cmsgpack.pack(capacity, fairness, held - weight, waiting, holders - 1,
                        joined, waiters, next_ticket, earliest_end, waiters_expiry))
                redis.call('HDEL', key, nonce)
            end
            return { phase == 'admitted' and ADMITTED or OFFERED, fence }
        end
        -- Nearly as usual, and what a hand-off between two takes: the only one that waits is
        -- offered the place of the only one that holds.
        if waiters == 1 and holders == 1 and now < earliest_end and fairness == 'f' then
            local order, records = key .. ':line', key .. ':waiters'
            local next, record = unpack(redis.call('HGETALL', records))
            local alone = redis.call('ZRANGE', order, 0, -1)
            if next and alone[1] == next and not alone[2] then
                local phase, ticket, weight, _, lease_end, _, since, serial, client, owner, host,
                    pid = cmsgpack.unpack(record)
                if phase == 'waiting' and lease_end > now then
                    local claim_end = now + CLAIM_TIME
                    need('HSET', key)
                    need('HDEL', key)
                    need('DEL', order, records)
                    plant_tombstone()
                    redis.call('HSET', key,
                        'head', cmsgpack.pack(capacity, fairness, weight, 0, 1, 0, 0, next_ticket,
                            math.min(claim_end, lease_end), waiters_expiry),
                        next, cmsgpack.pack('offered', ticket, weight, 0, lease_end, claim_end,
                            since, serial, client, owner, host, pid))
                    redis.call('HDEL', key, nonce)
                    redis.call('DEL', order, records)
                    redis.pcall('PUBLISH', 'holdfast:' .. client, next .. ' o')
                    local _, left, _, _, fence = cmsgpack.unpack_limit(known, 4)
                    return { left == 'admitted' and ADMITTED or OFFERED, fence }
                end
            end
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
        state = one.phase == 'admitted' and ADMITTED or one.phase == 'offered' and OFFERED
            or WAITING
    end
    take_out(line, one)
    save(line)
    return { state, state == ADMITTED and one.fence or 0 }
end
