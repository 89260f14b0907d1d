#!lua
-- Lets a contender in, unless others are.
-- KEYS: five. ARGV, behind what all begin with: nonce, lease, weight, capacity, the fence that it
-- proposes, who it is (packed), whom to call when it should try again ('' for nobody) and until
-- when that waits, in milliseconds from now.
-- Answers vote, fence, clock; of a node that is busy or forgetful for how many milliseconds, and of
-- a busy one the nonce of somebody who is in; of one whose clients have another max_lease that one;
-- and whoever counts, or disagrees, for how many milliseconds it has been what it is, and for how
-- many its nodes have been named as they are.
-- No allow-oom: without memory it is refused before it did anything.

-- include ../../redis/scripts/clock.lua
-- include node.lua

local nonce, lease, weight, capacity, proposal = ARGV[4], ARGV[5] * 1000, tonumber(ARGV[6]),
    tonumber(ARGV[7]), tonumber(ARGV[8])
local who, caller, patience = ARGV[9], ARGV[10], tonumber(ARGV[11])

local withdrawn = redis.call('ZSCORE', left_key, nonce)
if withdrawn and tonumber(withdrawn) * 1000 > microseconds then return { GONE, 0, microseconds } end

local forgetful, refusal, counted, agreeing = forgetful_until()
if refusal then return refusal end
if forgetful then return { FORGETFUL, 0, microseconds, left_until(forgetful) } end
local holders = read_holders()
local known = holders[nonce]
if known then
    need_to_write_holder()
    known.lease_end = math.max(known.lease_end, microseconds + lease)
    write_holder(holders, known)
    return { ADMITTED, known.fence, microseconds, 0, NOBODY, counted, agreeing }
end

if proposal > 0 and is_ahead(proposal, max_lease / 2) then return { AHEAD, 0, microseconds } end

-- The same of several at each node, so that the one that has a majority is known by it.
local held, rival = 0, nil
for _, other in pairs(holders) do
    held = held + other.weight
    if not rival or other.nonce < rival.nonce then rival = other end
end
if held + weight > capacity then
    if caller ~= '' then
        need('ZADD', called_key)
        need('PEXPIREAT', called_key)
        local until_then = math.floor(microseconds / 1000) + patience
        redis.call('ZADD', called_key, 'GT', number(until_then), caller)
        redis.call('PEXPIREAT', called_key, number(until_then + max_lease / 1000))
    end
    return { BUSY, 0, microseconds, left_until(rival.lease_end), rival.nonce, counted, agreeing }
end

local fence = math.max(last_fence() + 1, microseconds, proposal)
if fence > NEVER then return redis.error_reply('PLANTED the last fence is one that nobody was given') end
need('SET', fence_key)
need_to_write_holder()
-- Before anything is written, too: the key may be of another kind.
local waiters = somebody_waits()
if waiters then need_calls() end
keep_fence(fence)
write_holder(holders,
    holder(nonce, weight, fence, microseconds + lease, 0, microseconds, who, run))
if waiters and caller ~= '' then redis.call('ZREM', called_key, caller) end
-- There is room beside a reader, for the readers who wait.
if waiters and weight < capacity then call_next() end
return { ADMITTED, fence, microseconds, 0, NOBODY, counted, agreeing }
