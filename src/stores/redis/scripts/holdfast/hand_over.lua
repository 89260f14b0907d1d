-- How the only holder leaves when one waits, which is what a hand-off between two takes: that one
-- is offered the place. Nothing is answered when the line is not like that. Needs layout.lua.
local function hand_over(keys, args, line)
    local key, nonce = keys[1], args[1]
    if args[2] ~= '0' or not line or string.sub(line, 1, 1) ~= 'l' then return end
    local capacity, fairness, _, _, holders, _, waiters, next_ticket, earliest_end, keys_end,
        left_until, in_hash, holder, left = cmsgpack.unpack(string.sub(line, 2))
    local between_two = holder == nonce and holders == 1 and waiters == 1 and not in_hash
    if not between_two or now >= earliest_end or fairness ~= 'f' then return end

    local records = redis.call('HGETALL', keys[4])
    if #records ~= 2 then return end
    local phase, ticket, weight, _, lease_end, _, since, serial, client, owner, host, pid =
        cmsgpack.unpack(records[2])
    if phase ~= 'waiting' or lease_end <= now then return end
    local claim_end = now + CLAIM_TIME
    need('DEL', keys[4], keys[5])
    redis.call('SET', key,
        'l' .. cmsgpack.pack(capacity, fairness, weight, 0, 1, 0, 0, next_ticket,
            math.min(claim_end, lease_end), keys_end, left_until, false, records[1],
            'offered', ticket, weight, 0, lease_end, claim_end, since, serial, client, owner, host,
            pid),
        'KEEPTTL')
    redis.call('DEL', keys[4], keys[5])
    redis.pcall('PUBLISH', 'holdfast:' .. client, records[1] .. ' o')
    return left == 'admitted' and ADMITTED or OFFERED
end
