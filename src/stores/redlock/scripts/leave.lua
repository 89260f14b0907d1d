#!lua flags=allow-oom
-- Takes a contender out, refuses it from now on, and calls who waits.
-- KEYS: five. ARGV, behind what all begin with: nonce, for how many milliseconds a delayed enter of it
-- is refused, who need not be called any more ('' for nobody), and 'quietly' when nobody is to be
-- called: it was refused by others of the nodes, and whoever it has met there has the lock.
-- Answers vote, fence, clock: admitted of one that was in, else gone.

-- include ../../redis/scripts/clock.lua
-- include node.lua

local nonce, time, caller, quietly = ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7] == 'quietly'
local now = math.floor(microseconds / 1000)

local function plant_tombstone()
    redis.call('ZREMRANGEBYSCORE', left_key, '-inf', number(now))
    redis.call('ZADD', left_key, 'GT', number(now + time), nonce)
    redis.call('PEXPIREAT', left_key, number(now + time), 'GT')
    redis.call('PEXPIREAT', left_key, number(now + time), 'NX')
end

local holders = read_holders()
local one = holders[nonce]
holders[nonce] = nil
-- Mostly nobody waits, and nothing is in doubt: then one write is all. A key of another kind keeps
-- nobody in.
local is_told, may_call = pcall(somebody_waits)
may_call = is_told and may_call
if time > 0 then
    need('ZADD', left_key)
    need('ZREMRANGEBYSCORE', left_key)
    need('PEXPIREAT', left_key)
end
if may_call then need_calls() end
redis.call('HDEL', holders_key, nonce)
if time > 0 then plant_tombstone() end
if may_call then
    -- One that waited, and is not registered any more, has been called: the next one is, in its
    -- place.
    local was_called = caller ~= '' and redis.call('ZREM', called_key, caller) == 0
    local is_free = one or (was_called and next(holders) == nil)
    if is_free and not quietly then call_next() end
end
if not one then return { GONE, 0, microseconds } end
return { ADMITTED, one.fence, microseconds }
