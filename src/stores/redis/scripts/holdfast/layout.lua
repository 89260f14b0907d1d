-- How a resource is stored. Names fall into a fixed number of buckets, BBB; R is the name. It has
-- these seven keys, which are in one slot, and no script touches others. On a cluster it is handed
-- all of them; elsewhere the first two, for each word costs more than many a command:
--
--   1  {holdfast/BBB}R          STRING  the line, while anybody is in it: lone or full, see below
--   2  {holdfast/BBB}#fence     STRING  the last fence given to any name of the bucket, 16 digits
--   3  {holdfast/BBB}R#holders  HASH    nonce -> holder (admitted, or offered), of several
--   4  {holdfast/BBB}R#waiters  HASH    nonce -> waiter (waiting, or lapsed)
--   5  {holdfast/BBB}R#order    ZSET    waiters' nonces by ticket; a lapsed one by minus the end of
--                                       its lease
--   6  {holdfast/BBB}R#left     ZSET    tombstones: nonces of contenders that left before their
--                                       enter came, by when each may be forgotten
--   7  {holdfast/BBB}R#         never there. A server whose slot is being moved refuses a script of
--                               which a key is missing, and begins it otherwise: then it fails the
--                               first command on a key that the script has emptied, half done
--
-- When nobody is there, nothing is left but the bucket's fence. Keys 3 to 6 count only as far as
-- the line says so: one that was found when it says that there is none is a remainder, and is
-- deleted.
--
-- A lone line is one holder that is admitted, with nobody waiting and no tombstones. It is written
-- and read without taking it apart, for that is what costs: by place, each moment in microseconds,
--
--   'q', fence (16 digits), since (16), heard of (16), nonce (32), and as MessagePack:
--   lease, serial, weight, capacity, fairness, client, owner, host, pid
--
-- The key ends with the lease: who finds it need not look at the clock. A full line is 'l' and
-- MessagePack values, which keep every digit of a fence:
--
--   head       capacity, fairness, held, waiting, holders, joined, waiters, next_ticket,
--              earliest_end, keys_end, left_until, in_hash
--   nonce, contender   of the only holder, where it is not in the hash
--
-- and a contender is phase, ticket, weight, fence, lease_end, claim_end, since, serial (of its
-- latest renewal: an older one that comes late changes nothing); who it is: client, owner, host,
-- pid.
--
-- Enter, renew and leave do their usual case first, on a lone line alone, and return. What all
-- other cases need stands in a function behind that: it is made anew by each call that comes to it,
-- and a script with many variables costs each call more, whether it comes to them or not.
--
-- Needs clock.lua.

-- include ../rights.lua

local now = math.floor(microseconds / 1000)

-- The keys of one, of which the script was handed so many.
local function keys_at(first, count)
    if count == 7 then return { unpack(KEYS, first, first + 6) } end
    local line = KEYS[first]
    return { line, KEYS[first + 1], line .. '#holders', line .. '#waiters', line .. '#order',
        line .. '#left' }
end

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

-- The keys of a full line outlive the longest lease by this when they are prolonged, so that few
-- renewals do it.
local GRACE = 60000

-- The fence is kept until a day after its own time at least: from then on the clock alone makes the
-- next one larger. An hour more, for not each one that follows it prolongs that; and a second.
local KEPT = 90001000

-- Of a moment in milliseconds, when a key that ends with it does. One that ends now is still there.
local function ending(moment)
    return string.format('%.0f', moment - 1)
end
