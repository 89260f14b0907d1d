-- Who moves in a line, when, and who is told. Needs line.lua.

-- Holders -------------------------------------------------------------------------------------

-- Sets its lease, which the keys are to outlive.
local function keep(line, one, lease)
    one.lease_end = line.now + lease
    one.changed = true
    if one.lease_end > line.keys_end then
        line.keys_end = one.lease_end + GRACE
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
    if line.holders > 1 and not line.in_hash then begin_crowd(line) end
    line.held = line.held + one.weight
    if one.weight == 0 then line.joined = line.joined + 1 end
    note_end(line, one)
end

-- Admits one that is offered a place, or is not in line.
local function admit(line, one)
    one.fence = give_fence(bucket_of(line))
    one.since = line.now
    one.changed = true
    if one.phase ~= 'offered' then return add_holder(line, one, 'admitted') end
    one.phase = 'admitted'
    note_end(line, one)
end

-- The one with the lowest ticket among the holders that suit.
local function first_holder(line, suits)
    local first
    for _, one in ipairs(all_holders(line)) do
        if suits(one) and (not first or one.ticket < first.ticket) then first = one end
    end
    return first
end

-- A place frees with the last of those who joined it: the first of them takes over the weight.
local function hand_to_joined(line, holder)
    local heir = first_holder(line, function(one)
        return one.weight == 0 and one.fence == holder.fence
    end)
    if not heir then return end
    heir.weight, holder.weight = holder.weight, 0
    heir.changed = true
end

local function remove_holder(line, holder)
    if holder.weight > 0 and line.joined > 0 then hand_to_joined(line, holder) end
    line.holders = line.holders - 1
    line.held = line.held - holder.weight
    if holder.weight == 0 then line.joined = line.joined - 1 end
    if line.holders == 0 then line.earliest_end = NEVER end
    line.loose = true
    holder.phase = 'gone'
    holder.changed = true
end

-- Waiters -------------------------------------------------------------------------------------

local function tell(line, one, word)
    one.told = word
    line.tellings[#line.tellings + 1] = one
end

-- Whoever stands behind it may become the stand-by. The order is written at once, here and in hear,
-- for the next step reads it.
local function remove_waiter(line, one)
    line.placed = line.placed - redis.call('ZREM', line.order, one.nonce)
    if line.placed == 0 then line.expiring = false end
    line.waiters = line.waiters - 1
    if one.phase == 'waiting' then
        line.waiting = line.waiting - one.weight
        line.vacated = math.min(line.vacated or NEVER, one.ticket)
        line.loose = line.loose or line.fairness == 'f'
        if line.first == one then line.first = nil end
    end
    one.phase = 'gone'
    one.changed = true
end

-- The nonces of some waiters from the front of the line, now known. A lapsed one comes before all
-- others once its lease has ended, and never before that.
local function waiters_from(line, offset, count)
    local nonces = redis.call('ZRANGE', line.order, string.format('%.0f', -line.now), '+inf',
        'BYSCORE', 'LIMIT', offset, count)
    find_waiters(line, nonces)
    return nonces
end

-- Too many are to be thrown out at once: whoever asks is to come again, and the last in line is
-- told to ask, for it is the likeliest to live.
local function stop_removing(line)
    if line.unfinished then return end
    line.unfinished = true
    local last = redis.call('ZRANGE', line.order, -1, -1)
    find_waiters(line, last)
    local one = line.known[last[1]]
    if one and one.phase == 'waiting' and not one.told then tell(line, one, 'w') end
end

-- Visits the waiters from the front until `visit` returns true, and throws out those whose lease
-- has ended. Two are enough for most: the chosen and the stand-by.
local function walk(line, visit)
    local offset, count, nonces = 0, 1, nil
    repeat
        count = math.min(2 * count, 128)
        nonces = waiters_from(line, offset, count)
        for _, nonce in ipairs(nonces) do
            local one = line.known[nonce]
            if one.lease_end <= line.now then
                line.removals = line.removals + 1
                if line.removals > MOST_REMOVALS then return stop_removing(line) end
                remove_waiter(line, one)
                tell(line, one, 'g')
            elseif visit(one) then
                return
            elseif one.phase == 'waiting' then
                offset = offset + 1
            end
        end
    until #nonces < count
end

-- The first that waits and was not passed over: it alone looks when something ahead ends.
local function stand_by(line)
    if line.first == nil then
        line.first = false
        if line.placed > 0 then
            walk(line, function(one)
                line.first = one
                return true
            end)
        end
    end
    return line.first
end

-- How long the stand-by waits before it looks.
local function look(line)
    if line.unfinished then return 1 end
    if line.earliest_end == NEVER then return CLAIM_TIME end
    return math.max(line.earliest_end - line.now, 1)
end

-- How many wait ahead of it; nothing when they are many.
local function few_ahead_of(line, one)
    if one.unplaced then return line.waiters <= LOOKERS and line.waiters - 1 end
    local first = redis.call('ZRANGE', line.order, 1, '+inf', 'BYSCORE', 'LIMIT', 0, LOOKERS)
    for i, nonce in ipairs(first) do
        if nonce == one.nonce then return i - 1 end
    end
end

-- At the end of the line.
local function add_waiter(line, one)
    begin_waiters(line)
    if not stand_by(line) then line.first = one end
    one.phase = 'waiting'
    one.unplaced = true
    one.changed = true
    line.known[one.nonce] = one
    line.waiters = line.waiters + 1
    line.waiting = line.waiting + one.weight
end

-- One that did not claim in time keeps its ticket, but is out of sight until its lease ends.
local function pass_over(line, one)
    begin_waiters(line)
    one.phase = 'lapsed'
    one.unplaced = true
    line.waiters = line.waiters + 1
end

-- One that was passed over is heard of.
local function hear(line, one)
    line.placed = line.placed + redis.call('ZADD', line.order, one.ticket, one.nonce)
    one.phase = 'waiting'
    one.unplaced = false
    one.changed = true
    line.waiting = line.waiting + one.weight
    line.loose = line.loose or line.fairness == 'f'
    line.first = nil
end

-- Moving --------------------------------------------------------------------------------------

-- Whether that much is free now, whoever waits.
local function has_room(line, weight)
    return weight <= line.capacity - line.held
end

-- Fifo: reserves places for the first in line until one does not fit, or has to wait for the claims
-- of so many. That is the stand-by.
local function pass_on(line)
    line.first = false
    walk(line, function(one)
        if line.offers == MOST_OFFERS or not has_room(line, one.weight) then
            line.first = one
            return true
        end
        line.offers = line.offers + 1
        remove_waiter(line, one)
        one.claim_end = line.now + CLAIM_TIME
        add_holder(line, one, 'offered')
        tell(line, one, 'o')
    end)
end

-- Barging: reserves nothing, and tells those that would fit: their renewals decide. The first that
-- does not fit is to look whether they came. Whoever is beyond reach learns of room with its own
-- renewals, so that a long line of heavy contenders costs nothing each time.
local function call_bargers(line)
    local reach, passed = 64, 0
    local room, called = line.capacity - line.held, 0
    line.first = false
    walk(line, function(one)
        line.first = line.first or one
        if one.weight <= room then
            room, called = room - one.weight, called + 1
            tell(line, one, 'o')
            return called == MOST_OFFERS
        end
        if called > 0 and passed == 0 then tell(line, one, 'w') end
        passed = passed + 1
        return room == 0 or passed == reach
    end)
end

-- One of those that were called has come. When there is room for more than are called at once, the
-- next one that came within reach by that is called.
local function call_next_barger(line)
    local room = line.capacity - line.held
    if room < MOST_OFFERS or line.placed < MOST_OFFERS then return end
    local nonces = waiters_from(line, MOST_OFFERS - 1, 1)
    local one = line.known[nonces[1]]
    if one and one.phase == 'waiting' and one.weight <= room then tell(line, one, 'o') end
end

local function is_overdue(line, phase, lease_end, claim_end)
    return lease_end <= line.now or (phase == 'offered' and claim_end <= line.now)
end

-- The holders whose lease or claim is over, and what those that stay add up to. Notes when the next
-- one is over. Those that stay may be very many, so they are not taken apart.
local function overdue_holders(line)
    local overdue, earliest_end, held, holders = {}, NEVER, 0, 0
    local function stays(phase, weight, lease_end, claim_end)
        earliest_end = math.min(earliest_end, lease_end, phase == 'offered' and claim_end or NEVER)
        held, holders = held + amount(weight), holders + 1
    end
    each_unknown_holder(line, function(nonce, value)
        local _, phase, _, weight, _, lease_end, claim_end = cmsgpack.unpack_limit(value, 6)
        if not is_overdue(line, phase, lease_end, claim_end) then
            return stays(phase, weight, lease_end, claim_end)
        end
        line.known[nonce] = contender(nonce, line.crowd, cmsgpack.unpack(value))
    end)
    for _, one in pairs(line.known) do
        if is_holder(one) then
            if is_overdue(line, one.phase, one.lease_end, one.claim_end) then
                overdue[#overdue + 1] = one
            else
                stays(one.phase, one.weight, one.lease_end, one.claim_end)
            end
        end
    end
    line.earliest_end = earliest_end
    return overdue, held, holders
end

local function end_overdue_holders(line)
    local shared = line.joined > 0
    local overdue, held, holders = overdue_holders(line)
    local earliest_end = line.earliest_end
    for _, one in ipairs(overdue) do
        local offered, over = one.phase == 'offered', one.lease_end <= line.now
        remove_holder(line, one)
        if offered and over then tell(line, one, 'g') end
        if offered and not over then pass_over(line, one) end
    end
    line.earliest_end = earliest_end
    -- Somebody may have deleted a holder by hand, whom nobody would end. But where some share
    -- another one's place, that one's weight is theirs: then it is counted when that is over.
    if holders < line.holders then
        if shared then
            line.earliest_end = math.min(line.earliest_end, line.now + CLAIM_TIME)
        else
            line.held, line.holders, line.loose = held, holders, true
        end
    end
end

-- Ends what is overdue and passes free places on. `loose`: somebody may move that could not before;
-- under barging that is worth telling only when a place became free.
local function advance(line)
    if line.now >= line.earliest_end then end_overdue_holders(line) end
    if line.loose and line.placed > 0 and line.held < line.capacity then
        if line.fairness == 'f' then pass_on(line) else call_bargers(line) end
    end
    line.loose = false
end

local function take_out(line, one)
    if is_holder(one) then remove_holder(line, one) else remove_waiter(line, one) end
    advance(line)
end

-- How long one waits that has so many ahead of it. The stand-by may be dead as well as who holds:
-- the next ones look a claim time after each other. And where there is room but for the stand-by,
-- its end is what they wait for.
local function look_behind(line, one, ahead)
    local wait = look(line) + ahead * CLAIM_TIME
    local first = stand_by(line)
    if not first or not has_room(line, one.weight) then return wait end
    return math.max(math.min(wait, first.lease_end - line.now), 1)
end

-- What one that waits is answered: its state, fence and look.
local function still_waiting(line, one)
    if stand_by(line) == one then
        line.vacated = nil -- it learns from this answer that it is the stand-by
        return WAITING, 0, look(line)
    end
    if line.unfinished then return WAITING, 0, look(line) end
    local ahead = few_ahead_of(line, one)
    return WAITING, 0, ahead and look_behind(line, one, ahead) or -1
end

-- Admits whom a place is reserved for, or who may take a free one.
local function claim(line, one)
    if one.phase == 'lapsed' then hear(line, one) end
    if one.phase == 'waiting' then
        advance(line)
        if one.phase == 'waiting' then
            if line.fairness == 'f' or not has_room(line, one.weight) then
                return still_waiting(line, one)
            end
            remove_waiter(line, one)
        end
    end
    if one.phase == 'admitted' then
        note_end(line, one)
        return ADMITTED, one.fence, -1
    end
    admit(line, one)
    -- More may fit than could be told at once.
    if line.fairness == 'f' then advance(line) else call_next_barger(line) end
    return ADMITTED, one.fence, -1
end

-- Where one stands that is in line. Nothing is reserved for one that was passed over, nor under
-- barging: its renewal decides.
local function stand(line, one)
    -- A claim stands as long as nobody else came for the place.
    if one.phase ~= 'offered' then advance(line) end
    if one.phase == 'offered' then return OFFERED, 0, -1 end
    if one.phase == 'admitted' then return ADMITTED, one.fence, -1 end
    local unreserved = one.phase == 'lapsed' or line.fairness == 'b'
    if unreserved and has_room(line, one.weight) then return OFFERED, 0, -1 end
    return still_waiting(line, one)
end

-- Does what `answer` does with one that is in line, and answers what that does; never re-creates.
local function answer_to(line, one, answer)
    local state, fence, look_again = GONE, 0, -1
    if one and one.phase ~= 'gone' then
        if one.lease_end > line.now then
            state, fence, look_again = answer(line, one)
        else
            take_out(line, one)
        end
    end
    if one then one.told = nil end -- it learns of its own turn from this answer
    return state, fence, look_again
end

-- Extends a lease and claims what is offered. A copy of an older renewal that comes late changes
-- nothing: it would cut short what a newer one has lengthened.
local function renew(line, one, lease, serial)
    return answer_to(line, one, function()
        if serial < one.serial then return stand(line, one) end
        one.serial = serial
        keep(line, one, lease)
        return claim(line, one)
    end)
end

-- The same for a copy of its enter, which may come after any renewal, and cuts nothing short.
local function enter_again(line, one, lease)
    return answer_to(line, one, function()
        keep(line, one, math.max(lease, one.lease_end - line.now))
        return claim(line, one)
    end)
end

-- Ending --------------------------------------------------------------------------------------

-- It became the stand-by, or waits for another one now, when somebody before it moved.
local function tell_stand_by(line)
    local one = line.vacated and stand_by(line)
    if one and one.ticket > line.vacated and not one.told then tell(line, one, 'w') end
end

-- An ACL may forbid the channel: then they find out when they look or renew.
local function publish(line)
    for _, one in ipairs(line.tellings) do
        local word = one.told
        one.told = nil
        if word == 'w' then
            -- Under barging a free place is not reserved: whoever was called for it may not come.
            local unclaimed = line.fairness == 'b' and line.held < line.capacity
            word = string.format('w %.0f', math.min(look(line), unclaimed and CLAIM_TIME or NEVER))
        end
        if word then
            redis.pcall('PUBLISH', 'holdfast:' .. one.client, one.nonce .. ' ' .. word)
        end
    end
end

local function save(line)
    tell_stand_by(line)
    if line.torn then redis.call('DEL', line.order, line.records) end
    if line.crowd_torn then redis.call('DEL', line.crowd) end
    save_fence(line)
    local lone = lone_of(line)
    if lone then
        save_lone(line, lone)
    elseif line.holders + line.waiters > 0 or line.left_until > line.now then
        save_full(line)
    else
        save_nobody(line)
    end
    publish(line)
end
