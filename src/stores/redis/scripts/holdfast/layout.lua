-- How a resource is stored. KEYS[i] is {R}; its keys are
--
--   {R}             HASH    head -> the sums of the line; nonce -> holder (admitted, or offered);
--                           fence -> the last one given; expiry -> of this key
--   {R}:waiters     HASH    nonce -> waiter (waiting, or lapsed)
--   {R}:line        ZSET    waiters' nonces by ticket; a lapsed one by minus the end of its lease
--   {R}:left:NONCE  STRING  a tombstone: this contender left before its enter came
--
-- A head and a contender are sequences of MessagePack values, which keep every digit of a fence and
-- cost a fraction of text, or of a field for each number. In this order, everywhere:
--
--   head       capacity, fairness, held, waiting, holders, joined, waiters, next_ticket,
--              earliest_end, waiters_expiry
--   contender  phase, ticket, weight, fence, lease_end, claim_end, since, serial (of its latest
--              renewal: an older one that comes late changes nothing); who it is: client, owner,
--              host, pid
--
-- Enter, renew and leave do their usual case first, on these values alone, and return: one
-- contender in a quiet line, where nobody waits and nothing has ended. The functions for all other
-- cases are included behind that, for defining them costs as much as the calls of the usual case.

-- include ../rights.lua

local time = redis.call('TIME')
local microseconds = time[1] * 1000000 + time[2]
local now = math.floor(microseconds / 1000)

-- The states of a reply.
local GONE, WAITING, OFFERED, ADMITTED = 0, 1, 2, 3

-- How long an offered place stays reserved.
local CLAIM_TIME = 1000

-- So many are offered a place by one script at most, and so many dead ones taken out of line: the
-- server does nothing else meanwhile. The claims, and whoever looks, go on with it.
local MOST_OFFERS, MOST_REMOVALS = 100, 500

-- So many of the first in line look when something ahead of them ends.
local LOOKERS = 8

-- 2^53 - 1, the highest fence.
local NEVER = 9007199254740991

-- The waiters' keys outlive the longest lease by this when they are prolonged, so that few renewals
-- do it.
local GRACE = 60000

-- The fence is kept until so long after its own time: from then on the clock alone makes the next
-- one larger. The key is prolonged by as much again, so that this happens once a day.
local DAY = 86400000

-- The fence after the last one, when that leaves so many (one); else it is a planted value.
local function next_fence(last, count)
    last = tonumber(last or 0)
    return last and last + (count or 1) <= NEVER and math.max(last + 1, microseconds)
end

-- The digits of a fence. Usually it is the clock's time, and to print a number is dear.
local function digits_of(fence)
    if fence == microseconds then return time[1] .. string.sub('000000' .. time[2], -6) end
    return string.format('%.0f', fence)
end

-- {R} is to outlast this lease and this fence: when it ends too early, the new end; else nothing.
local function prolonged(expiry, lease_end, fence)
    local needed = math.max(lease_end, fence / 1000 + DAY)
    if needed > (tonumber(expiry) or 0) then return string.format('%.0f', needed + DAY) end
end
