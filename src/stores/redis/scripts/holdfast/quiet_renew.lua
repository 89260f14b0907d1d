-- How one holder is renewed: that of a lone line, or one that claims a place with nobody waiting.
-- Nothing is answered when it is neither. Needs layout.lua.

-- The clock as the next fence of a bucket, where it is later than the last one. Else nothing has
-- changed, and nothing is answered.
local function take_fence(fence_key)
    local last = redis.call('SET', fence_key, clock, 'KEEPTTL', 'GET')
    local before = not last and 0 or tonumber(last)
    if before and before < microseconds then
        redis.call('SET', fence_key, clock, 'EX', '90001')
        return microseconds
    end
    redis.call('SET', fence_key, last, 'KEEPTTL')
end

-- `rest` is what a lone line has behind the nonce, but for lease and serial.
local function write_lone(key, fence_and_since, nonce, lease, serial, rest)
    redis.call('SET', key,
        'q' .. fence_and_since .. clock .. nonce .. cmsgpack.pack(lease, serial) .. rest,
        'PXAT', ending(now + lease))
end

local function renew_lone(key, line, nonce, lease, serial)
    if string.sub(line, 50, 81) ~= nonce then return end
    local terms = string.sub(line, 82)
    local rest, _, latest = cmsgpack.unpack_limit(terms, 2)
    if serial >= tonumber(latest) then
        write_lone(key, string.sub(line, 2, 33), nonce, lease, serial, string.sub(terms, rest + 1))
    end
    return { ADMITTED, tonumber(string.sub(line, 2, 17)), microseconds }
end

local function claim_alone(keys, line, nonce, lease, serial)
    local capacity, fairness, _, _, holders, _, waiters, _, earliest_end, _, left_until, in_hash,
        holder, phase, _, weight, _, _, _, _, latest, client, owner, host, pid =
        cmsgpack.unpack(string.sub(line, 2))
    local alone = holder == nonce and holders == 1 and waiters == 0 and not in_hash
    if not alone or phase ~= 'offered' or serial < latest then return end
    if now >= earliest_end or now < left_until then return end
    local fence = take_fence(keys[2])
    if not fence then return end
    write_lone(keys[1], clock .. clock, nonce, lease, serial,
        cmsgpack.pack(weight, capacity, fairness, client, owner, host, pid))
    return { ADMITTED, fence, microseconds }
end

local function renew_quietly(keys, lease, serial, nonce)
    local line = redis.call('GET', keys[1])
    if not line then return { GONE, 0, microseconds } end
    local form = string.sub(line, 1, 1)
    if form == 'q' then return renew_lone(keys[1], line, nonce, lease, serial) end
    if form == 'l' then return claim_alone(keys, line, nonce, lease, serial) end
end
