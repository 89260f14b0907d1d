-- The line of a resource, for one script at one moment: how it is read and written. Needs
-- layout.lua; moving.lua moves the contenders.
--
-- A script opens its lines, which reads and checks all that can fail, then moves contenders in
-- memory, and saves at the end: so an error has no effect. Nothing reads a long line: each step
-- touches its own contender and the first few waiters.
--
-- Phases are words, and the moment is a field: a local from outside makes each function that uses
-- it dearer to define.

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
        weight = weight, -- 0 of one that joined another's hold
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

local function line_of(key, capacity, fairness, held, waiting, holders, joined, waiters,
                       next_ticket, earliest_end, waiters_expiry)
    return {
        key = key,
        order = key .. ':line',
        records = key .. ':waiters',
        now = now,
        known = {}, -- every contender read so far: each step sees what the others changed
        tellings = {}, -- whom to tell
        stored = capacity ~= nil,
        capacity = capacity,
        fairness = fairness, -- 'f' or 'b'
        held = held, -- the weight of all holders
        waiting = waiting, -- the weight of all waiters but the lapsed
        holders = holders,
        joined = joined, -- how many of the holders share another one's place
        waiters = waiters,
        placed = 0, -- how many of the waiters are in the order
        next_ticket = next_ticket,
        earliest_end = earliest_end, -- no holder's lease or claim ends before this
        fence = nil, -- the last one given
        expiry = nil, -- of {R}
        lasting = 0, -- until when it must last for whoever was heard of
        waiters_expiry = waiters_expiry, -- of the waiters' keys
        loose = fairness == 'f', -- somebody may move that could not before
        offers = 0, -- made by this script
        removals = 0, -- of dead waiters, by this script
    }
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
local function open_waiters(line, nonces)
    line.placed = redis.call('ZCARD', line.order)
    local recorded = redis.call('HLEN', line.records)
    line.torn = line.placed ~= line.waiters or recorded ~= line.waiters
    if line.torn then line.placed, line.waiters, line.waiting = 0, 0, 0 end
    line.expiring = line.placed > 0
    if line.placed > 0 then find_waiters(line, nonces) end
end

-- The line of a head, if there is one.
local function line_with(key, head)
    if not head then return line_of(key, nil, nil, 0, 0, 0, 0, 0, 1, NEVER, 0) end
    local line = line_of(key, cmsgpack.unpack(head))
    line.head = head
    return line
end

-- All that may come of a line that is open, what is read between two writes too.
local function need_rights(line)
    need('HGETALL', line.key)
    need('HSET', line.key)
    need('HDEL', line.key)
    need('PEXPIREAT', line.key)
    need('ZADD', line.order)
    need('ZREM', line.order)
    need('ZRANGE', line.order)
    need('DEL', line.order, line.records)
end

-- Opens a line with those of the nonces that are in it. `values` are those of head, fence, expiry
-- and of the nonces in {R}, when they have been read already.
local function open(key, nonces, values)
    values = values or redis.call('HMGET', key, 'head', 'fence', 'expiry', unpack(nonces))
    local line = line_with(key, values[1])
    line.fence, line.expiry = values[2], values[3]
    need_rights(line)
    if not line.stored then return line end
    for i, nonce in ipairs(nonces) do
        local value = values[i + 3]
        if value then line.known[nonce] = contender(nonce, key, cmsgpack.unpack(value)) end
    end
    open_waiters(line, nonces)
    return line
end

-- Those that are stored, and not known yet.
local function each_unknown_holder(line, visit)
    if not line.stored or line.listed then return end
    local fields = redis.call('HGETALL', line.key)
    for i = 1, #fields, 2 do
        local nonce = fields[i]
        if #nonce == 32 and not line.known[nonce] then visit(nonce, fields[i + 1]) end
    end
end

local function all_holders(line)
    each_unknown_holder(line, function(nonce, value)
        line.known[nonce] = contender(nonce, line.key, cmsgpack.unpack(value))
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

-- Puts come before removals: a key that is empty for a moment would lose its expiry.
local function save_holders(line)
    local head = cmsgpack.pack(line.capacity, line.fairness, line.held, line.waiting, line.holders,
        line.joined, line.waiters, line.next_ticket, line.earliest_end, line.waiters_expiry)
    local fields, ended = head ~= line.head and { 'head', head } or {}, {}
    if line.fence_given then
        fields[#fields + 1] = 'fence'
        fields[#fields + 1] = digits_of(line.fence)
    end
    local expiry = prolonged(line.expiry, line.lasting, line.fence_given and line.fence or 0)
    if expiry then
        fields[#fields + 1] = 'expiry'
        fields[#fields + 1] = expiry
    end
    for nonce, one in pairs(line.known) do
        if is_holder(one) then
            if one.changed then
                fields[#fields + 1] = nonce
                fields[#fields + 1] = encode(one)
            end
        elseif one.home == line.key then
            ended[#ended + 1] = nonce
        end
    end
    write('HSET', line.key, fields)
    write('HDEL', line.key, ended)
    if expiry then redis.call('PEXPIREAT', line.key, expiry) end
end

-- When nobody is left, nothing is left but the fence.
local function save_nobody(line)
    local ended = { 'head' }
    for nonce, one in pairs(line.known) do
        if one.home == line.key then ended[#ended + 1] = nonce end
    end
    write('HDEL', line.key, ended)
    redis.call('DEL', line.order, line.records)
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
        local expiry = string.format('%.0f', line.waiters_expiry)
        redis.call('PEXPIREAT', line.order, expiry)
        redis.call('PEXPIREAT', line.records, expiry)
    end
end
