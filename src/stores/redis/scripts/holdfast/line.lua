-- The line of a resource, for one script at one moment. KEYS[i] is {R}; its keys are
--
--   {R}             HASH    head -> the line's sums; nonce -> holder (admitted, or offered a place)
--   {R}:waiters     HASH    nonce -> waiter (waiting, or lapsed)
--   {R}:line        ZSET    waiters' nonces by ticket; a lapsed one by minus the end of its lease
--   {R}:fence       STRING  the last fence given
--   {R}:left:NONCE  STRING  a tombstone: this contender left before its enter came
--
-- A head or contender is a sequence of MessagePack values (see line_of and contender): that keeps
-- every digit of a fence, and costs a fraction of text, or of a field for each number.
--
-- A script opens its lines, which reads and checks all that can fail, then moves contenders in
-- memory, and saves at the end: so an error has no effect. Nothing reads a long line: each step
-- touches its own contender and the first few waiters.
--
-- A function that is defined costs as much as a quarter of a redis.call, and constants as upvalues
-- make it dearer. So this file has what a quiet line needs, where nobody waits and nothing has
-- ended; waiters.lua has the rest, and is included behind the return of the quiet case.

local time = redis.call('TIME')
local microseconds = time[1] * 1000000 + time[2]

-- The states of a reply.
local GONE, WAITING, OFFERED, ADMITTED = 0, 1, 2, 3
-- 2^53 - 1. As the last fence it leaves no next one: only a planted value can be that.
local NEVER = 9007199254740991

-- A contender's phase is one of
--   admitted
--   offered   its place is reserved until the claim ends
--   waiting
--   lapsed    waiting, but it did not claim when it was its turn: passed over until it is heard of
--   gone      in memory only
local function contender(nonce, home, phase, ticket, weight, fence, lease_end, claim_end, since,
                         client, owner, host, pid)
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
        client = client,
        owner = owner,
        host = host,
        pid = pid,
        changed = false,
    }
end

local function encode(one)
    return cmsgpack.pack(one.phase, one.ticket, one.weight, one.fence, one.lease_end, one.claim_end,
        one.since, one.client, one.owner, one.host, one.pid)
end

local function line_of(key, capacity, fairness, held, waiting, holders, joined, waiters,
                       next_ticket, earliest_end, expiry)
    return {
        key = key,
        now = math.floor(microseconds / 1000),
        known = {}, -- every contender read so far: each step sees what the others changed
        capacity = capacity,
        fairness = fairness, -- 'f' or 'b'
        held = held, -- the weight of all holders
        waiting = waiting, -- the weight of all waiters but the lapsed
        holders = holders,
        joined = joined, -- how many of the holders share another one's place
        waiters = waiters,
        next_ticket = next_ticket,
        earliest_end = earliest_end, -- no holder's lease or claim ends before this
        expiry = expiry, -- of the keys
        stored = capacity ~= nil,
    }
end

-- Opens a line and finds those of the nonces that are holders.
local function open(key, nonces)
    local values = redis.call('HMGET', key, 'head', unpack(nonces))
    if not values[1] then return line_of(key, nil, nil, 0, 0, 0, 0, 0, 1, NEVER, 0) end
    local line = line_of(key, cmsgpack.unpack(values[1]))
    for i, nonce in ipairs(nonces) do
        local value = values[i + 1]
        if value then line.known[nonce] = contender(nonce, key, cmsgpack.unpack(value)) end
    end
    return line
end

local function is_quiet(line)
    return line.waiters == 0 and line.now < line.earliest_end
end

-- Whether that much is free now, whoever waits.
local function has_room(line, weight)
    return weight <= line.capacity - line.held
end

-- Takes over the last fence, unless it is a planted one.
local function accept_fence(line, value)
    line.last_fence = tonumber(value or 0)
    return line.last_fence and line.last_fence < NEVER
end

-- Sets its lease, which the keys are to outlive: by a minute, so that few renewals prolong them.
local function keep(line, one, lease)
    one.lease_end = line.now + lease
    one.changed = true
    if one.lease_end > line.expiry then
        line.expiry = one.lease_end + 60000
        line.prolonged = true
    end
end

-- Of a lone holder the end is known; of several, that none is earlier: renewals move them.
local function note_end(line, holder)
    local ends = holder.lease_end
    if holder.phase == 'offered' and holder.claim_end < ends then ends = holder.claim_end end
    if line.holders == 1 or ends < line.earliest_end then line.earliest_end = ends end
end

local function add_holder(line, one, phase)
    one.phase = phase
    one.changed = true
    line.known[one.nonce] = one
    line.holders = line.holders + 1
    line.held = line.held + one.weight
    if one.weight == 0 then line.joined = line.joined + 1 end
    note_end(line, one)
end

local function remove_holder(line, holder)
    holder.phase = 'gone'
    holder.changed = true
    line.holders = line.holders - 1
    line.held = line.held - holder.weight
    if holder.weight == 0 then line.joined = line.joined - 1 end
    if line.holders == 0 then line.earliest_end = NEVER end
end

-- Admits one that is offered a place, or is not in line.
local function admit(line, one)
    line.last_fence = math.max(line.last_fence + 1, microseconds)
    line.fence_given = true
    one.fence = line.last_fence
    one.since = line.now
    one.changed = true
    if one.phase ~= 'offered' then return add_holder(line, one, 'admitted') end
    one.phase = 'admitted'
    note_end(line, one)
end

-- Lua cannot pass very many arguments on. The portion is even, so that pairs stay together.
local function write(command, key, arguments)
    for first = 1, #arguments, 1000 do
        redis.call(command, key, unpack(arguments, first, math.min(first + 999, #arguments)))
    end
end

-- Kept until a day after its own time: from then on the clock alone makes the next one larger.
local function save_fence(line)
    local fence = line.last_fence
    redis.call('SET', line.key .. ':fence', string.format('%.0f', fence),
        'PXAT', string.format('%.0f', fence / 1000 + 86400000))
end

-- Puts come before removals: a key that is empty for a moment would lose its expiry.
local function save_holders(line)
    local fields = { 'head', cmsgpack.pack(line.capacity, line.fairness, line.held, line.waiting,
        line.holders, line.joined, line.waiters, line.next_ticket, line.earliest_end, line.expiry) }
    local ended = {}
    for nonce, one in pairs(line.known) do
        if one.phase == 'admitted' or one.phase == 'offered' then
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
    if line.prolonged then
        redis.call('PEXPIREAT', line.key, string.format('%.0f', line.expiry))
    end
end

-- Saves a line without waiters. When nobody is left, nothing is left but the fence.
local function save_quiet(line)
    if line.fence_given then save_fence(line) end
    if line.holders > 0 then save_holders(line) else redis.call('DEL', line.key) end
end
