-- The line of a resource, for one script at one moment: how it is read and written. Needs
-- layout.lua; moving.lua moves the contenders.
--
-- A script opens its lines, which reads and checks all that can fail, then moves contenders in
-- memory, and saves at the end: so an error has no effect. Nothing reads a long line: each step
-- touches its own contender and the first few waiters.
--
-- Phases are words, and the moment is a field: a local from outside makes each function that uses
-- it dearer to define.

-- What stands there was written by somebody else.
local function refuse()
    error({ err = 'WRONGTYPE this is no line of holdfast' })
end

-- A weight, or how many there are. With less than nothing more would be let in than there is room
-- for.
local function amount(number)
    if type(number) ~= 'number' or not (number >= 0) then refuse() end
    return number
end

-- A contender's phase is one of
--   admitted
--   offered   its place is reserved until the claim ends
--   waiting
--   lapsed    waiting, but it did not claim when it was its turn: passed over until it is heard of
--   gone      in memory only
local function contender(nonce, home, phase, ticket, weight, fence, lease_end, claim_end, since,
                         serial, client, owner, host, pid)
    return {
        nonce = nonce,
        home = home, -- the key that it is stored in
        phase = phase,
        ticket = ticket,
        weight = amount(weight), -- 0 of one that joined another's hold
        fence = fence,
        lease_end = lease_end,
        claim_end = claim_end,
        since = since, -- when it was admitted, or entered while it is not
        serial = serial, -- of its latest renewal
        client = client,
        owner = owner,
        host = host,
        pid = pid,
        changed = false,
    }
end

local function encode(one)
    return cmsgpack.pack(one.phase, one.ticket, one.weight, one.fence, one.lease_end, one.claim_end,
        one.since, one.serial, one.client, one.owner, one.host, one.pid)
end

local function is_holder(one)
    return one.phase == 'admitted' or one.phase == 'offered'
end

local function is_waiter(one)
    return one.phase == 'waiting' or one.phase == 'lapsed'
end

local function line_of(keys, capacity, fairness, held, waiting, holders, joined, waiters,
                       next_ticket, earliest_end, keys_end, left_until, in_hash)
    return {
        key = keys[1],
        fence_key = keys[2],
        crowd = keys[3],
        records = keys[4],
        order = keys[5],
        left = keys[6],
        now = now,
        known = {}, -- every contender read so far: each step sees what the others changed
        tellings = {}, -- whom to tell
        capacity = capacity,
        fairness = fairness, -- 'f' or 'b'
        held = amount(held), -- the weight of all holders
        waiting = amount(waiting), -- the weight of all waiters but the lapsed
        holders = amount(holders),
        joined = amount(joined), -- how many of the holders share another one's place
        waiters = amount(waiters),
        placed = 0, -- how many of the waiters are in the order
        next_ticket = next_ticket,
        earliest_end = earliest_end, -- no holder's lease or claim ends before this
        keys_end = keys_end, -- of all keys of this line; no lease ends later
        left_until = left_until, -- the end of the latest tombstone
        in_hash = in_hash, -- holders are in the crowd, and not in the line's own key
        loose = fairness == 'f', -- somebody may move that could not before
        offers = 0, -- made by this script
        removals = 0, -- of dead waiters, by this script
    }
end

-- Fences --------------------------------------------------------------------------------------

-- A bucket's last fence, as this script leaves it: several lines may have the same bucket.
local buckets = {}

local function bucket_of(line)
    local key = line.fence_key
    buckets[key] = buckets[key] or { key = key, last = redis.call('GET', key) or '0' }
    return buckets[key]
end

-- The fence after the last one, when that leaves so many (one); else it is a planted value.
local function next_fence(bucket, count)
    local last = tonumber(bucket.last)
    return last and last + (count or 1) <= NEVER and math.max(last + 1, microseconds)
end

local function give_fence(bucket)
    bucket.last = next_fence(bucket)
    bucket.given = true
    return bucket.last
end

local function save_fence(line)
    local bucket = buckets[line.fence_key]
    if not bucket or not bucket.given then return end
    local own_time = math.floor(bucket.last / 1000)
    redis.call('SET', bucket.key, string.format('%016.0f', bucket.last), 'PXAT',
        string.format('%.0f', own_time + KEPT))
    bucket.given = false
end

-- Opening -------------------------------------------------------------------------------------

-- Finds those of the nonces that are waiters and not known yet.
local function find_waiters(line, nonces)
    local unknown = {}
    for _, nonce in ipairs(nonces) do
        if not line.known[nonce] then unknown[#unknown + 1] = nonce end
    end
    if #unknown == 0 then return end
    for i, value in ipairs(redis.call('HMGET', line.records, unpack(unknown))) do
        local nonce = unknown[i]
        if value then line.known[nonce] = contender(nonce, line.records, cmsgpack.unpack(value)) end
    end
end

-- Memory pressure may evict one of the keys, and an operator may delete one: waiters whose keys
-- disagree are forgotten, and find themselves gone.
local function open_waiters(line)
    line.placed = redis.call('ZCARD', line.order)
    local recorded = redis.call('HLEN', line.records)
    line.torn = line.placed ~= line.waiters or recorded ~= line.waiters
    if line.torn then line.placed, line.waiters, line.waiting = 0, 0, 0 end
    line.expiring = line.placed > 0
    line.has_order = true
end

-- All that may come of a line that is open, what is read between two writes too.
local function need_rights(line)
    need('SET', line.key)
    need('DEL', line.key, line.crowd, line.records, line.order)
    need('HGETALL', line.crowd)
    need('HSET', line.crowd)
    need('HDEL', line.crowd)
    need('PEXPIREAT', line.crowd)
    if line.waiters == 0 then return end
    need('ZADD', line.order)
    need('ZREM', line.order)
    need('ZRANGE', line.order)
end

local function nobody_at(keys)
    return line_of(keys, nil, nil, 0, 0, 0, 0, 0, 1, NEVER, 0, 0, false)
end

local function lone_at(keys, stored)
    local nonce = string.sub(stored, 50, 81)
    local fence, since, heard = string.sub(stored, 2, 17), string.sub(stored, 18, 33),
        string.sub(stored, 34, 49)
    local lease, serial, weight, capacity, fairness, client, owner, host, pid =
        cmsgpack.unpack(string.sub(stored, 82))
    local lease_end = math.floor(heard / 1000) + lease
    local line = line_of(keys, tonumber(capacity), fairness, tonumber(weight), 0, 1, 0, 0, 2,
        lease_end, lease_end + GRACE, 0, false)
    line.lone = true
    line.known[nonce] = contender(nonce, keys[1], 'admitted', 1, tonumber(weight), tonumber(fence),
        lease_end, 0, math.floor(since / 1000), tonumber(serial), client, owner, host, pid)
    return line
end

local function full_at(keys, stored)
    local values = { cmsgpack.unpack(string.sub(stored, 2)) }
    local line = line_of(keys, unpack(values, 1, 12))
    local nonce = values[13]
    if nonce then
        line.known[nonce] = contender(nonce, keys[1], unpack(values, 14))
    end
    return line
end

local function line_at(keys, stored)
    if not stored then return nobody_at(keys) end
    local form = string.sub(stored, 1, 1)
    if form == 'q' then return lone_at(keys, stored) end
    if form == 'l' then return full_at(keys, stored) end
    refuse()
end

-- Finds those of the nonces that are holders in the crowd.
local function find_holders(line, nonces)
    for i, value in ipairs(redis.call('HMGET', line.crowd, unpack(nonces))) do
        local nonce = nonces[i]
        if value then line.known[nonce] = contender(nonce, line.crowd, cmsgpack.unpack(value)) end
    end
end

-- Opens a line with those of the nonces that are in it. `stored` is what its own key has, when that
-- has been read already.
local function open(keys, nonces, stored)
    if stored == nil then stored = redis.call('GET', keys[1]) end
    local line = line_at(keys, stored)
    line.stored = stored
    line.had_waiters, line.had_crowd = line.waiters > 0, line.in_hash
    need_rights(line)
    if line.in_hash then find_holders(line, nonces) end
    if line.waiters > 0 then open_waiters(line) end
    if line.placed > 0 then find_waiters(line, nonces) end
    return line
end

-- Those that are stored, and not known yet.
local function each_unknown_holder(line, visit)
    if not line.in_hash or line.listed then return end
    local fields = redis.call('HGETALL', line.crowd)
    for i = 1, #fields, 2 do
        local nonce = fields[i]
        if not line.known[nonce] then visit(nonce, fields[i + 1]) end
    end
end

local function all_holders(line)
    each_unknown_holder(line, function(nonce, value)
        line.known[nonce] = contender(nonce, line.crowd, cmsgpack.unpack(value))
    end)
    line.listed = true
    local found = {}
    for _, one in pairs(line.known) do
        if is_holder(one) then found[#found + 1] = one end
    end
    return found
end

-- Saving --------------------------------------------------------------------------------------

-- Lua cannot pass very many arguments on. The portion is even, so that pairs stay together.
local function write(command, key, arguments)
    for first = 1, #arguments, 1000 do
        redis.call(command, key, unpack(arguments, first, math.min(first + 999, #arguments)))
    end
end

-- The keys of waiters, or of the crowd, come into use. What is in them is a remainder of a line
-- whose own key is gone; but what is no key of ours is not touched.
local function begin_waiters(line)
    if line.has_order then return end
    open_waiters(line)
    need('ZADD', line.order)
end

local function begin_crowd(line)
    line.in_hash = true
    line.crowd_torn = redis.call('HLEN', line.crowd) > 0
end

-- Whether there is a lone holder: one that is admitted, nobody waits, and nothing else is kept.
local function lone_of(line)
    if line.holders ~= 1 or line.joined + line.waiters > 0 then return end
    if line.left_until > line.now then return end
    for _, one in pairs(line.known) do
        if one.phase == 'admitted' then return one end
    end
end

local function save_lone(line, one)
    if line.lone and not one.changed then return end
    local moments = string.format('%016.0f%016.0f%016.0f', one.fence, one.since * 1000,
        line.now * 1000)
    redis.call('SET', line.key, 'q' .. moments .. one.nonce ..
        cmsgpack.pack(one.lease_end - line.now, one.serial, one.weight, line.capacity,
            line.fairness, one.client, one.owner, one.host, one.pid),
        'PXAT', ending(one.lease_end))
    if line.had_crowd or line.had_waiters then
        redis.call('DEL', line.crowd, line.order, line.records)
    end
end

-- When nobody is left, nothing is left.
local function save_nobody(line)
    redis.call('DEL', line.key, line.crowd, line.order, line.records)
end

-- Puts come before removals: a key that is empty for a moment would lose its expiry.
local function save_crowd(line)
    local fields, ended = {}, {}
    for nonce, one in pairs(line.known) do
        if is_holder(one) then
            if one.changed or one.home ~= line.crowd then
                fields[#fields + 1] = nonce
                fields[#fields + 1] = encode(one)
            end
        elseif one.home == line.crowd then
            ended[#ended + 1] = nonce
        end
    end
    write('HSET', line.crowd, fields)
    write('HDEL', line.crowd, ended)
    if line.prolonged or not line.had_crowd then
        redis.call('PEXPIREAT', line.crowd, ending(line.keys_end))
    end
end

local function save_waiters(line)
    local fields, left, places = {}, {}, {}
    for nonce, one in pairs(line.known) do
        if is_waiter(one) then
            if one.changed then
                fields[#fields + 1] = nonce
                fields[#fields + 1] = encode(one)
            end
            if one.unplaced then
                local score = one.phase == 'waiting' and one.ticket or -one.lease_end
                places[#places + 1] = string.format('%.0f', score)
                places[#places + 1] = nonce
            end
        elseif one.home == line.records then
            left[#left + 1] = nonce
        end
    end
    write('HSET', line.records, fields)
    write('HDEL', line.records, left)
    write('ZADD', line.order, places)
    if line.waiters > 0 and (line.prolonged or not line.expiring) then
        redis.call('PEXPIREAT', line.order, ending(line.keys_end))
        redis.call('PEXPIREAT', line.records, ending(line.keys_end))
    end
end

-- The only holder is kept in the line's own key, unless it is in the crowd and was not looked at.
local function only_holder(line)
    if line.holders ~= 1 then return end
    for _, one in pairs(line.known) do
        if is_holder(one) then return one end
    end
end

-- The line's own key comes last, for it says what of the others counts.
local function save_full(line)
    local one = only_holder(line)
    if line.in_hash and (one or line.holders == 0) then
        redis.call('DEL', line.crowd)
        line.in_hash = false
    end
    if line.in_hash then save_crowd(line) end
    if line.has_order then save_waiters(line) end
    local stored = 'l' .. cmsgpack.pack(line.capacity, line.fairness, line.held, line.waiting,
        line.holders, line.joined, line.waiters, line.next_ticket, line.earliest_end, line.keys_end,
        line.left_until, line.in_hash)
    if one then stored = stored .. cmsgpack.pack(one.nonce) .. encode(one) end
    local ends = math.max(line.holders + line.waiters > 0 and line.keys_end or 0, line.left_until)
    if stored == line.stored and not line.prolonged then return end
    redis.call('SET', line.key, stored, 'PXAT', ending(ends))
end
