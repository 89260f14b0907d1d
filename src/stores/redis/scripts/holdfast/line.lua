-- The line of a resource, for one script at one moment. KEYS[i] is {R}; its keys are
--
--   {R}             HASH    head -> the line's sums; nonce -> holder (admitted, or offered a place)
--   {R}:waiters     HASH    nonce -> waiter
--   {R}:line        ZSET    nonce by ticket; one that was passed over: by minus its lease's end
--   {R}:fence       STRING  the last fence given
--   {R}:left:NONCE  STRING  a tombstone: this contender left before its enter came
--
-- A head or contender is a sequence of MessagePack values (see open and decode): that keeps every
-- digit of a fence, and is read in a fraction of the time that text, or a field for each number,
-- would take.
--
-- A script opens its lines, which reads and checks all that can fail, then moves contenders in
-- memory, and saves at the end: so an error has no effect. Nothing reads a long line: each step
-- touches its own contender and the first few waiters.

local call, pack, unpack_values = redis.call, cmsgpack.pack, cmsgpack.unpack
local format, min, max = string.format, math.min, math.max

local time = call('TIME')
local microseconds = time[1] * 1000000 + time[2]
local now = math.floor(microseconds / 1000)

-- Phases, and the states of a reply. Lapsed: waiting, but it did not claim when it was its turn;
-- it is passed over until it is heard of.
local GONE, WAITING, OFFERED, ADMITTED, LAPSED = 0, 1, 2, 3, 4

-- How long an offered place stays reserved.
local CLAIM_TIME = 1000
-- Keys outlive the last lease by up to this, so that few renewals have to prolong them.
local GRACE = 60000
-- 2^53 - 1. As the last fence it leaves no next one: only a planted value can be that.
local NEVER = 9007199254740991

-- Contenders ----------------------------------------------------------------------------------

local function decode(nonce, value)
    local one = { nonce = nonce }
    one.phase, one.ticket, one.weight, one.fence, one.lease_end, one.claim_end, one.since,
        one.client, one.owner, one.host, one.pid = unpack_values(value)
    one.stored = one.phase
    one.placed = one.phase == WAITING or one.phase == LAPSED
    return one
end

local function encode(one)
    return pack(one.phase, one.ticket, one.weight, one.fence, one.lease_end, one.claim_end,
        one.since, one.client, one.owner, one.host, one.pid)
end

local function is_holder(phase)
    return phase == ADMITTED or phase == OFFERED
end

local function is_waiter(phase)
    return phase == WAITING or phase == LAPSED
end

-- When its place frees by itself.
local function end_of(holder)
    return holder.phase == OFFERED and min(holder.claim_end, holder.lease_end) or holder.lease_end
end

-- Opening -------------------------------------------------------------------------------------

-- `known` has every contender read so far, once, so that each step sees what the others changed.
local function open(key, nonces)
    local line = { key = key, known = {}, changed = {}, told = {}, tellings = {} }
    local values = call('HMGET', key, 'head', unpack(nonces))
    if values[1] then
        line.stored = true
        line.capacity, line.fairness, line.held, line.waiting, line.holders, line.joined,
            line.waiters, line.next_ticket, line.earliest_end, line.expiry = unpack_values(values[1])
        line.loose = line.fairness == 'f'
        for i, nonce in ipairs(nonces) do
            local value = values[i + 1]
            if value then line.known[nonce] = decode(nonce, value) end
        end
    else
        line.held, line.waiting, line.holders, line.joined, line.waiters = 0, 0, 0, 0, 0
        line.next_ticket, line.earliest_end, line.expiry = 1, NEVER, 0
    end
    line.waiters_stored = line.waiters
    return line
end

local function is_empty(line)
    return line.holders + line.waiters == 0
end

-- Nobody waits and no lease or claim has ended: then only the holders' hash is concerned.
local function is_quiet(line)
    return line.waiters == 0 and now < line.earliest_end
end

-- Opens the waiters' keys too, and finds those of the nonces that are there. Memory pressure may
-- evict one key of the three, and an operator may delete one: waiters whose keys disagree are
-- forgotten, and find themselves gone.
local function open_waiters(line, nonces)
    line.order, line.records = line.key .. ':line', line.key .. ':waiters'
    local placed, recorded = call('ZCARD', line.order), call('HLEN', line.records)
    line.torn = placed ~= line.waiters or recorded ~= line.waiters
    if line.torn then line.waiters, line.waiters_stored, line.waiting = 0, 0, 0 end
    line.ordered = line.waiters > 0
    if not line.ordered then return end
    for i, value in ipairs(call('HMGET', line.records, unpack(nonces))) do
        if value then line.known[nonces[i]] = decode(nonces[i], value) end
    end
end

-- For a verb on contenders that should be there already.
local function open_with(key, nonces)
    local line = open(key, nonces)
    if not line.stored then return line end
    local simple = is_quiet(line)
    for _, nonce in ipairs(nonces) do simple = simple and line.known[nonce] end
    if not simple then open_waiters(line, nonces) end
    return line
end

-- Takes over the value of the last fence, unless it is a planted one.
local function accept_fence(line, value)
    line.last_fence = tonumber(value or 0)
    return line.last_fence and line.last_fence < NEVER
end

local function next_fence(line)
    line.last_fence = max(line.last_fence + 1, microseconds)
    line.fence_given = true
    return line.last_fence
end

-- Holders -------------------------------------------------------------------------------------

local function all_holders(line)
    if line.stored and not line.listed then
        line.listed = true
        local fields = call('HGETALL', line.key)
        for i = 1, #fields, 2 do
            local nonce = fields[i]
            if nonce ~= 'head' and not line.known[nonce] then
                line.known[nonce] = decode(nonce, fields[i + 1])
            end
        end
    end
    local found = {}
    for _, one in pairs(line.known) do
        if is_holder(one.phase) then found[#found + 1] = one end
    end
    return found
end

-- Sets its lease, which its line's keys are to outlive.
local function keep(line, one, lease)
    one.lease_end = now + lease
    if one.lease_end > line.expiry then
        line.expiry = one.lease_end + GRACE
        line.prolonged = true
    end
    line.changed[one] = true
end

-- A lone holder's end is known. Of several only that none is earlier: renewals move them.
local function note_end(line, holder)
    local ends = end_of(holder)
    line.earliest_end = line.holders == 1 and ends or min(line.earliest_end, ends)
end

local function add_holder(line, one, phase)
    one.phase = phase
    line.known[one.nonce] = one
    line.holders = line.holders + 1
    line.held = line.held + one.weight
    if one.weight == 0 then line.joined = line.joined + 1 end
    note_end(line, one)
    line.changed[one] = true
end

-- A place frees with the last of those who joined it: the first of them takes over the weight.
local function hand_to_joined(line, holder)
    local heir
    for _, one in ipairs(all_holders(line)) do
        local joined = one.weight == 0 and one.fence == holder.fence
        if joined and (not heir or one.ticket < heir.ticket) then heir = one end
    end
    if not heir then return end
    heir.weight, holder.weight = holder.weight, 0
    line.changed[heir] = true
end

local function remove_holder(line, holder)
    if holder.weight > 0 and line.joined > 0 then hand_to_joined(line, holder) end
    line.holders = line.holders - 1
    line.held = line.held - holder.weight
    if holder.weight == 0 then line.joined = line.joined - 1 end
    if line.holders == 0 then line.earliest_end = NEVER end
    line.loose = true
    holder.phase = GONE
    line.changed[holder] = true
end

-- Waiters -------------------------------------------------------------------------------------

local function tell(line, one, word)
    line.told[one] = word
    line.tellings[#line.tellings + 1] = one
end

-- The phase is where it goes to. Whoever stands behind it may become the stand-by.
local function remove_waiter(line, one, phase)
    line.waiters = line.waiters - 1
    if one.phase == WAITING then
        line.waiting = line.waiting - one.weight
        line.vacated = min(line.vacated or NEVER, one.ticket)
        line.loose = line.loose or line.fairness == 'f'
        if line.first == one then line.first = nil end
    end
    one.phase = phase
    line.changed[one] = true
end

-- Some waiters from the front of the line. Whoever was passed over comes before all others once
-- its lease has ended, and never before that.
local function waiters_from(line, offset, count)
    local nonces = call('ZRANGE', line.order, format('%.0f', -now), '+inf', 'BYSCORE',
        'LIMIT', offset, count)
    local unknown = {}
    for _, nonce in ipairs(nonces) do
        if not line.known[nonce] then unknown[#unknown + 1] = nonce end
    end
    if #unknown > 0 then
        for i, value in ipairs(call('HMGET', line.records, unpack(unknown))) do
            line.known[unknown[i]] = decode(unknown[i], value)
        end
    end
    return nonces
end

-- Visits the waiters from the front until `visit` returns true, but throws out those whose lease
-- has ended. Most need two: the chosen and the stand-by.
local function walk(line, visit)
    local offset, count, nonces = 0, 2, nil
    repeat
        nonces = waiters_from(line, offset, count)
        for _, nonce in ipairs(nonces) do
            local one = line.known[nonce]
            if is_waiter(one.phase) and one.lease_end <= now then
                remove_waiter(line, one, GONE)
                tell(line, one, 'g')
            elseif one.phase == WAITING and visit(one) then
                return
            end
        end
        offset, count = offset + #nonces, min(2 * count, 512)
    until #nonces == 0
end

-- The first that waits and was not passed over: it alone looks when something ahead ends.
local function stand_by(line)
    if line.first == nil then
        line.first = false
        if line.ordered then
            walk(line, function(one)
                line.first = one
                return true
            end)
        end
    end
    return line.first
end

local function add_waiter(line, one, phase)
    if phase == WAITING then
        if not stand_by(line) then line.first = one end
        line.waiting = line.waiting + one.weight
    end
    one.phase, one.placed = phase, false
    line.known[one.nonce] = one
    line.waiters = line.waiters + 1
    line.changed[one] = true
end

-- One that was passed over is heard of. Placed at once, for the next step reads the order.
local function hear(line, one)
    call('ZADD', line.order, one.ticket, one.nonce)
    one.phase, one.placed = WAITING, true
    line.waiting = line.waiting + one.weight
    line.loose = line.loose or line.fairness == 'f'
    line.first, line.ordered = nil, true
end

-- How long the stand-by should wait before it looks.
local function look(line)
    if line.earliest_end == NEVER then return CLAIM_TIME end
    return max(line.earliest_end - now, 1)
end

-- Moving --------------------------------------------------------------------------------------

-- Whether that much is free now, whoever waits.
local function has_room(line, weight)
    return weight <= line.capacity - line.held
end

-- The admission rule for a newcomer behind everybody.
local function admits(line, weight)
    return has_room(line, weight + (line.fairness == 'f' and line.waiting or 0))
end

-- Fifo: reserves places for the first in line until one does not fit. That is the stand-by.
local function pass_on(line)
    line.first = false
    walk(line, function(one)
        if not has_room(line, one.weight) then
            line.first = one
            return true
        end
        remove_waiter(line, one, OFFERED)
        one.claim_end = now + CLAIM_TIME
        add_holder(line, one, OFFERED)
        tell(line, one, 'o')
    end)
end

-- Barging: reserves nothing, and tells those that would fit: their renewals decide. The first that
-- does not fit looks whether they came. Whoever is beyond reach learns of room with its renewals,
-- so that a long line of heavy contenders costs nothing each time.
local function call_bargers(line)
    local reach, room, called = 64, line.capacity - line.held, false
    line.first = false
    walk(line, function(one)
        line.first = line.first or one
        if one.weight <= room then
            room, called = room - one.weight, true
            tell(line, one, 'o')
            return false
        end
        if called and reach == 64 then
            tell(line, one, format('w %.0f', min(look(line), CLAIM_TIME)))
        end
        reach = reach - 1
        return room == 0 or reach == 0
    end)
end

-- Whoever did not claim in time keeps its ticket, and is passed over until it is heard of.
local function end_overdue_holders(line)
    for _, one in ipairs(all_holders(line)) do
        if end_of(one) <= now then
            local offered = one.phase == OFFERED
            remove_holder(line, one)
            if offered and one.lease_end > now then
                add_waiter(line, one, LAPSED)
            elseif offered then
                tell(line, one, 'g')
            end
        end
    end
    line.earliest_end = NEVER
    for _, one in ipairs(all_holders(line)) do
        line.earliest_end = min(line.earliest_end, end_of(one))
    end
end

-- Ends what is overdue and passes free places on. `loose`: somebody may move that could not before.
-- Under barging only a place that became free is worth telling.
local function advance(line)
    if now >= line.earliest_end then end_overdue_holders(line) end
    if line.loose and line.ordered and line.held < line.capacity then
        if line.fairness == 'f' then pass_on(line) else call_bargers(line) end
    end
    line.loose = false
end

local function admit(line, one)
    one.fence, one.since = next_fence(line), now
    if one.phase ~= OFFERED then return add_holder(line, one, ADMITTED) end
    one.phase = ADMITTED
    note_end(line, one)
    line.changed[one] = true
end

local function take_out(line, one)
    if is_holder(one.phase) then
        remove_holder(line, one)
    else
        remove_waiter(line, one, GONE)
    end
    advance(line)
end

-- State, fence and look of one that waits.
local function waiting_state(line, one)
    if stand_by(line) ~= one then return WAITING, 0, -1 end
    line.vacated = nil -- it learns from this answer that it is the stand-by
    return WAITING, 0, look(line)
end

-- Extends the lease of one that is there, and admits whom a place is reserved for, or who may take
-- a free one. Answers state, fence and look.
local function claim(line, one, lease)
    keep(line, one, lease)
    if one.phase == LAPSED then hear(line, one) end
    if one.phase == WAITING then
        advance(line)
        if one.phase == WAITING then
            if line.fairness == 'f' or not has_room(line, one.weight) then
                return waiting_state(line, one)
            end
            remove_waiter(line, one, GONE)
        end
    end
    if one.phase == ADMITTED then note_end(line, one) else admit(line, one) end
    return ADMITTED, one.fence, -1
end

-- Never re-creates. Whoever asks learns of its own turn from the answer.
local function renew(line, one, lease)
    local state, fence, look_again = GONE, 0, -1
    if one and one.phase ~= GONE then
        if one.lease_end > now then
            state, fence, look_again = claim(line, one, lease)
        else
            take_out(line, one)
        end
    end
    if one then line.told[one] = nil end
    return state, fence, look_again
end

-- Saving --------------------------------------------------------------------------------------

-- In portions, for Lua cannot pass very many arguments on. Even ones: pairs stay together.
local function write(command, key, arguments)
    for first = 1, #arguments, 1000 do
        call(command, key, unpack(arguments, first, min(first + 999, #arguments)))
    end
end

local function add_pair(list, first, second)
    local size = #list
    list[size + 1] = first
    list[size + 2] = second
end

-- What is put comes before what is removed: a key that is empty for a moment loses its expiry.
local function save_contenders(line)
    local holders, ended = { 'head', pack(line.capacity, line.fairness, line.held, line.waiting,
        line.holders, line.joined, line.waiters, line.next_ticket, line.earliest_end,
        line.expiry) }, {}
    local waiters, left, places, vacant = {}, {}, {}, {}
    for one in pairs(line.changed) do
        local nonce, holds, waits = one.nonce, is_holder(one.phase), is_waiter(one.phase)
        if holds then add_pair(holders, nonce, encode(one)) end
        if waits then add_pair(waiters, nonce, encode(one)) end
        if is_holder(one.stored) and not holds then ended[#ended + 1] = nonce end
        if is_waiter(one.stored) and not waits then left[#left + 1] = nonce end
        if one.placed and not waits then vacant[#vacant + 1] = nonce end
        if waits and not one.placed then
            local score = one.phase == WAITING and one.ticket or -one.lease_end
            add_pair(places, format('%.0f', score), nonce)
        end
    end
    write('HSET', line.key, holders)
    write('HDEL', line.key, ended)
    write('HSET', line.records, waiters)
    write('HDEL', line.records, left)
    write('ZADD', line.order, places)
    write('ZREM', line.order, vacant)
end

local function save_expiry(line)
    local expiry = format('%.0f', line.expiry)
    if line.prolonged then call('PEXPIREAT', line.key, expiry) end
    if line.waiters > 0 and (line.prolonged or line.waiters_stored == 0) then
        call('PEXPIREAT', line.order, expiry)
        call('PEXPIREAT', line.records, expiry)
    end
end

-- Kept for a day from its own time: then the clock alone makes the next one larger.
local function save_fence(line)
    local fence = line.last_fence
    call('SET', line.key .. ':fence', format('%.0f', fence),
        'PXAT', format('%.0f', fence / 1000 + 86400000))
end

local function tell_stand_by(line)
    local one = line.vacated and stand_by(line)
    if one and one.ticket > line.vacated and not line.told[one] then
        tell(line, one, format('w %.0f', look(line)))
    end
end

-- An ACL may forbid the channel: then they find out when they look or renew.
local function publish(line)
    for _, one in ipairs(line.tellings) do
        local word = line.told[one]
        line.told[one] = nil
        if word then redis.pcall('PUBLISH', 'holdfast:' .. one.client, one.nonce .. ' ' .. word) end
    end
end

-- When nobody is left, nothing is left but the fence.
local function save(line)
    tell_stand_by(line)
    if line.torn then call('DEL', line.order, line.records) end
    if line.fence_given then save_fence(line) end
    if not is_empty(line) then
        save_contenders(line)
        save_expiry(line)
    elseif line.order then
        call('DEL', line.key, line.order, line.records)
    elseif line.stored then
        call('DEL', line.key)
    end
    publish(line)
end
