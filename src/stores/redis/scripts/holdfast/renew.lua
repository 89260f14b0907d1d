#!lua flags=allow-oom
-- Extends the leases of contenders of one line and claims what is offered to them. Never
-- re-creates: who is not there is gone.
-- KEYS[1]: {R}. ARGV: lease in milliseconds, serial, nonce... Answers, for each: state, fence, and
-- the look of one that waits, else the clock.

-- include layout.lua

-- The usual case: one holder in a quiet line, admitted or offered a place.
local found
if #ARGV == 3 then
    local key, lease, serial, nonce = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
    found = redis.call('HMGET', key, 'head', 'fence', 'expiry', nonce)
    local head, last, expiry, known = unpack(found)
    if not head then return { GONE, 0, microseconds } end
    local capacity, fairness, held, waiting, holders, joined, waiters, next_ticket, earliest_end,
        waiters_expiry = cmsgpack.unpack(head)
    local quiet = waiters == 0 and now < earliest_end
    if quiet and known then
        local who, phase, ticket, weight, fence, _, claim_end, since, latest =
            cmsgpack.unpack_limit(known, 8)
        local given = phase == 'offered'
        if serial < latest then return { given and OFFERED or ADMITTED, fence, microseconds } end
        if given then
            phase, fence, since = 'admitted', next_fence(last), now
            if not fence then return { 'fence', 0, last } end
        end
        local lease_end = now + lease
        -- Of a lone holder the end is known; of several, that none is earlier.
        if holders == 1 or lease_end < earliest_end then earliest_end = lease_end end
        expiry = prolonged(expiry, lease_end, given and fence or 0)
        if expiry then need('PEXPIREAT', key) end
        redis.call('HSET', key,
            'head', cmsgpack.pack(capacity, fairness, held, waiting, holders, joined, waiters,
                next_ticket, earliest_end, waiters_expiry),
            nonce, cmsgpack.pack(phase, ticket, weight, fence, lease_end, claim_end, since,
                serial) .. string.sub(known, who + 1))
        if given then redis.call('HSET', key, 'fence', digits_of(fence)) end
        if expiry then
            redis.call('HSET', key, 'expiry', expiry)
            redis.call('PEXPIREAT', key, expiry)
        end
        return { ADMITTED, fence, microseconds }
    end
end

-- include line.lua
-- include moving.lua

local lease, serial, nonces = tonumber(ARGV[1]), tonumber(ARGV[2]), { unpack(ARGV, 3) }
local line = open(KEYS[1], nonces, found)

-- Who is not admitted yet may be by this, and needs a fence then.
local candidates, first = 0, nil
for i, nonce in ipairs(nonces) do
    local one = line.known[nonce]
    if one and one.phase ~= 'admitted' then
        candidates, first = candidates + 1, first or i
    end
end
if first and not next_fence(line.fence, candidates) then
    return { 'fence', first - 1, line.fence }
end

local reply = {}
for _, nonce in ipairs(nonces) do
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = renew(line, line.known[nonce], lease, serial)
    if reply[at + 1] ~= WAITING then reply[at + 3] = microseconds end
end
if line.stored then save(line) end
return reply
