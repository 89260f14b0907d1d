#!lua flags=allow-oom
-- Takes a contender out, refuses it from now on, and calls who waits.
-- KEYS: five. ARGV, behind run and max_lease: nonce, for how many milliseconds a delayed enter of it
-- is refused, and who need not be called any more ('' for nobody).
-- Answers vote, fence, clock: admitted of one that was in, else gone.

-- include ../../redis/scripts/clock.lua
-- include node.lua

-- So many are called by one script at most: those who are not admitted are called by the next.
local MOST_CALLS = 4

local nonce, time, caller = ARGV[3], tonumber(ARGV[4]), ARGV[5]
local now = math.floor(microseconds / 1000)

local function plant_tombstone()
    redis.call('ZREMRANGEBYSCORE', left_key, '-inf', number(now))
    redis.call('ZADD', left_key, 'GT', number(now + time), nonce)
    redis.call('PEXPIREAT', left_key, number(now + time), 'GT')
    redis.call('PEXPIREAT', left_key, number(now + time), 'NX')
end

-- Those who have waited longest of those who still do. A call is for once: who is refused again is
-- registered again. An ACL may forbid the channel: then they find out when they look.
local function call_waiters()
    redis.call('ZREMRANGEBYSCORE', called_key, '-inf', number(now))
    for _, one in ipairs(redis.call('ZRANGE', called_key, 0, MOST_CALLS - 1)) do
        local client, its_nonce = string.match(one, '^(%x+) (%x+)$')
        redis.call('ZREM', called_key, one)
        if client then redis.pcall('PUBLISH', 'holdfast:' .. client, its_nonce .. ' o') end
    end
end

for _, key in ipairs({ left_key, called_key }) do
    need('ZADD', key)
    need('ZREMRANGEBYSCORE', key)
end
need('HDEL', holders_key)
local one = read_holders()[nonce]
redis.call('HDEL', holders_key, nonce)
if time > 0 then plant_tombstone() end
if caller ~= '' then redis.call('ZREM', called_key, caller) end
if not one then return { GONE, 0, microseconds } end
call_waiters()
return { ADMITTED, one.fence, microseconds }
