-- How a resource is stored. KEYS[i] is {R}; its keys are
--
--   {R}             HASH    head -> the line's sums; nonce -> holder (admitted, or offered a place)
--   {R}:waiters     HASH    nonce -> waiter (waiting, or lapsed)
--   {R}:line        ZSET    waiters' nonces by ticket; a lapsed one by minus the end of its lease
--   {R}:fence       STRING  the last fence given
--   {R}:left:NONCE  STRING  a tombstone: this contender left before its enter came
--
-- A head and a contender are sequences of MessagePack values, which keep every digit of a fence and
-- cost a fraction of text, or of a field for each number. In this order, everywhere:
--
--   head       capacity, fairness, held, waiting, holders, joined, waiters, next_ticket,
--              earliest_end, expiry
--   contender  phase, ticket, weight, fence, lease_end, claim_end, since, client, owner, host, pid
--
-- Enter, renew and leave do their usual case first, on these values alone, and return: one
-- contender in a quiet line, where nobody waits and nothing has ended. The functions for all other
-- cases are included behind that, for defining them costs as much as the calls of the usual case.

local time = redis.call('TIME')
local microseconds = time[1] * 1000000 + time[2]
local now = math.floor(microseconds / 1000)

-- The states of a reply.
local GONE, WAITING, OFFERED, ADMITTED = 0, 1, 2, 3

-- How long an offered place stays reserved.
local CLAIM_TIME = 1000

-- 2^53 - 1, the highest fence.
local NEVER = 9007199254740991

-- The keys outlive the longest lease by this when they are prolonged, so that few renewals do it.
local GRACE = 60000

-- The fence after the last one, when that leaves so many (one); else it is a planted value.
local function next_fence(last, count)
    last = tonumber(last or 0)
    return last and last + (count or 1) <= NEVER and math.max(last + 1, microseconds)
end

-- Kept until a day after its own time: from then on the clock alone makes the next one larger. With
-- GET it refuses to overwrite what is no fence.
local function save_fence(key, fence)
    if fence == microseconds then
        -- The usual case: the clock's own digits, for to print a number is dear.
        local digits = time[1] .. string.sub('000000' .. time[2], -6)
        redis.call('SET', key .. ':fence', digits, 'GET', 'EX', '86400')
    else
        redis.call('SET', key .. ':fence', string.format('%.0f', fence), 'GET',
            'PXAT', string.format('%.0f', fence / 1000 + 86400000))
    end
end
