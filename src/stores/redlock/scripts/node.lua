-- One of several independent nodes: what it keeps of a resource, and when it counts. Each script is
-- handed these keys, and touches no others:
--
--   1  {holdfast/BBB}R=         HASH    holders: nonce -> weight, fence, the end of its lease (in
--                                       microseconds), serial, since when (the same), who it
--                                       is: host, pid, owner, and the run of the server that let
--                                       it in. As MessagePack
--   2  {holdfast/BBB}#fence     STRING  the last fence given to any name of the bucket, 16 digits
--   3  {holdfast/BBB}R=left     ZSET    tombstones: nonces of those who left, by when (in
--                                       milliseconds) each may be forgotten
--   4  {holdfast/BBB}R=called   ZSET    who is to be called when somebody leaves: client and nonce,
--                                       by when (in milliseconds) it gives up waiting
--   5  holdfast/=run            STRING  the marker: the run of the server that these keys are of,
--                                       since when (in microseconds), and what all who use it agree
--                                       on: max_lease (in milliseconds), which nodes there are (a
--                                       digest), and since when (in microseconds) these are named.
--                                       Without these nobody has said yet
--
-- ARGV begins with the run of the server, as the client has learnt it on the connection by which
-- this comes, max_lease in milliseconds and the digest of the nodes. Every answer begins with a
-- vote, a fence, and the clock. Needs clock.lua.

-- include ../../redis/scripts/rights.lua

local holders_key, fence_key, left_key, called_key, marker_key = unpack(KEYS)
local run, max_lease, set = ARGV[1], ARGV[2] * 1000, ARGV[3]

local ADMITTED, BUSY, GONE, FORGETFUL, AHEAD, DISAGREED, OTHER_SET = 1, 2, 3, 4, 5, 6, 7
-- In the place of a nonce.
local NOBODY = '-'
-- 2^53 - 1, the highest fence.
local NEVER = 9007199254740991
-- So long after its own time a fence is kept: from then on the clock alone makes the next larger.
local DAY = 86400000

local function number(value)
    return string.format('%.0f', value)
end

-- How many milliseconds it takes until that moment.
local function left_until(moment)
    return math.ceil((moment - microseconds) / 1000)
end

-- How many milliseconds it has been since that moment.
local function past_since(moment)
    return math.floor((microseconds - moment) / 1000)
end

-- When the last lease is over that this run may have forgotten; nothing when it is. A run that is
-- new here knows of nothing that was before it, whatever its keys say. And how a contender is refused
-- whose client disagrees with the others: with a shorter max_lease this node would count too early,
-- and with other nodes beside it two might each have a majority of theirs. What they agree on
-- outlives a restart: what the node has forgotten may have been as long. And for how many
-- milliseconds this run has been known here, and its nodes have been named as they are.
local function forgetful_until()
    local its_run, since, agreed, its_set, named =
        string.match(redis.call('GET', marker_key) or '', '^(%x+) (%d+) ?(%d*) ?(%x*) ?(%d*)$')
    -- Since a moment that is to come: the clock was set back since.
    local is_new = its_run ~= run or tonumber(since) > microseconds
    if is_new or agreed == '' or its_set == '' or named == '' then
        since = is_new and clock or since
        if not agreed or agreed == '' then agreed = ARGV[2] end
        if not its_set or its_set == '' then its_set = set end
        if not named or named == '' then named = since end
        redis.call('SET', marker_key, table.concat({ run, since, agreed, its_set, named }, ' '))
    end
    local ends, refusal = since + max_lease, nil
    local known, agreeing = past_since(since), past_since(named)
    if agreed ~= ARGV[2] then
        refusal = { DISAGREED, 0, microseconds, tonumber(agreed), NOBODY, known, agreeing }
    elseif its_set ~= set then
        -- Since a moment that is to come: the clock was set back since, and it may be for longer than
        -- anybody else says.
        if agreeing < 0 then agreeing = past_since(0) end
        refusal = { OTHER_SET, 0, microseconds, 0, NOBODY, known, agreeing }
    end
    return ends > microseconds and ends or nil, refusal, known, agreeing
end

local function holder(nonce, weight, fence, lease_end, serial, since, who, its_run)
    return {
        nonce = nonce, weight = weight, fence = fence, lease_end = lease_end, serial = serial,
        since = since, who = who, run = its_run,
    }
end

-- Those whose lease is over, as they were read; some of them at the most, for there may be many.
local over, MOST_OVER = {}, 1000

-- All whose lease is not over.
local function read_holders()
    local found, fields = {}, redis.call('HGETALL', holders_key)
    for i = 1, #fields, 2 do
        local one = holder(fields[i], cmsgpack.unpack(fields[i + 1]))
        -- Somebody else's, which would let in more than there is room for.
        if not (one.weight >= 0) then error({ err = 'WRONGTYPE this is no holder of holdfast' }) end
        if one.lease_end > microseconds then
            found[one.nonce] = one
        elseif #over < MOST_OVER then
            over[#over + 1] = one.nonce
        end
    end
    return found
end

local function need_to_write_holder()
    need('HSET', holders_key)
    need('PEXPIREAT', holders_key)
    if over[1] then need('HDEL', holders_key) end
end

-- Puts it where it is found, until the last lease is over; those whose lease is over go, or the key
-- would keep them while anybody renews.
local function write_holder(holders, one)
    holders[one.nonce] = one
    local last = 0
    for _, other in pairs(holders) do last = math.max(last, other.lease_end) end
    if over[1] then redis.call('HDEL', holders_key, unpack(over)) end
    redis.call('HSET', holders_key, one.nonce,
        cmsgpack.pack(one.weight, one.fence, one.lease_end, one.serial, one.since, one.who,
            one.run))
    redis.call('PEXPIREAT', holders_key, number(math.ceil(last / 1000)))
end

-- A planted one is as good as the highest.
local function last_fence()
    local last = tonumber(redis.call('GET', fence_key) or 0)
    return last and last < NEVER and last or NEVER
end

local function keep_fence(fence)
    redis.call('SET', fence_key, string.format('%016.0f', fence), 'PXAT',
        number(math.floor(fence / 1000) + DAY + 1000))
end

-- So many are called by one script at most: those who are not admitted are called by the next. The
-- first is to try at once, and each of the others so many milliseconds later than the one before it,
-- for that may be dead. All at once would divide the nodes between them.
local MOST_CALLS, APART = 4, 25
-- So many are looked at for that: those whom nobody hears may all be of one client that is dead.
local MOST_LOOKED_AT = 128

-- Those who have waited longest of those who still do, so many at most.
local function next_waiters(most)
    local now = number(math.floor(microseconds / 1000))
    return redis.call('ZRANGE', called_key, '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, most)
end

local function somebody_waits()
    return next_waiters(1)[1] ~= nil
end

local function need_calls()
    need('ZREM', called_key)
    need('ZREMRANGEBYSCORE', called_key)
end

-- Answers whether it may have been heard. An ACL may forbid the channel: then they find out when they
-- look.
local function publish(waiter, call)
    local client, its_nonce = string.match(waiter, '^(%x+) (%x+)$')
    return client and redis.pcall('PUBLISH', 'holdfast:' .. client, its_nonce .. call) ~= 0
end

-- A call is for once: who is refused again is registered again, and who listens again looks.
local function call_next()
    redis.call('ZREMRANGEBYSCORE', called_key, '-inf', number(math.floor(microseconds / 1000)))
    local called = 0
    for _, one in ipairs(next_waiters(MOST_LOOKED_AT)) do
        redis.call('ZREM', called_key, one)
        local call = called == 0 and ' o' or ' w ' .. number(called * APART)
        if publish(one, call) then called = called + 1 end
        if called == MOST_CALLS then return end
    end
end

-- Whether this fence would be given again by a server that forgets it, and waits.
local function is_ahead(fence, limit)
    return fence >= microseconds + limit
end
