-- How contenders enter: see enter.lua for keys, args and the answer. Needs layout.lua.
local function enter(keys, args)
    -- The usual case: one contender that is admitted to a quiet line, or does not wait for it.
    local found
    if #keys == 1 then
        local key = keys[1]
        local nonce, who, weight, my_capacity, my_fairness, patience, lease, reenter = unpack(args)
        weight, my_capacity = tonumber(weight), tonumber(my_capacity)
        local capacity, fairness, held, waiting, holders, joined, waiters, next_ticket,
            earliest_end, waiters_expiry = my_capacity, my_fairness, 0, 0, 0, 0, 0, 1, NEVER, 0
        found = redis.call('HMGET', key, 'head', 'fence', 'expiry', nonce)
        local head, last, expiry, known = unpack(found)
        if head then
            capacity, fairness, held, waiting, holders, joined, waiters, next_ticket, earliest_end,
                waiters_expiry = cmsgpack.unpack(head)
        end
        local quiet = waiters == 0 and now < earliest_end
        local is_new = not known and (holders == 0 or reenter == '0')
        local agrees = capacity == my_capacity and fairness == my_fairness
        local has_room = weight <= capacity - held
        if quiet and is_new and agrees and (has_room or patience == 'n') then
            local withdrawn = redis.call('EXISTS', key .. ':left:' .. nonce) == 1
            if withdrawn then return { 'withdrawn', 0 } end
            if not has_room then return { GONE, 0, 0, -1 } end
            local fence = next_fence(last)
            if not fence then return { 'fence', 0, last } end
            local lease_end = now + lease
            expiry = prolonged(expiry, lease_end, fence)
            if expiry then need('PEXPIREAT', key) end
            redis.call('HSET', key,
                'head', cmsgpack.pack(capacity, fairness, held + weight, waiting, holders + 1,
                    joined, waiters, next_ticket + 1, math.min(earliest_end, lease_end),
                    waiters_expiry),
                'fence', digits_of(fence),
                nonce,
                cmsgpack.pack('admitted', next_ticket, weight, fence, lease_end, 0, now, 0) ..
                    who)
            if expiry then
                redis.call('HSET', key, 'expiry', expiry)
                redis.call('PEXPIREAT', key, expiry)
            end
            return { ADMITTED, next_ticket, fence, -1 }
        end
    end

    -- include line.lua
    -- include moving.lua

    -- Of the i-th: its nonce, and what it asks for.
    local function nonce_of(i)
        return args[8 * i - 7]
    end
    local function terms_of(i)
        local at = 8 * i - 8
        return tonumber(args[at + 3]), tonumber(args[at + 4]), args[at + 5], args[at + 8] == '1'
    end
    local function owner_of(i)
        local _, owner = cmsgpack.unpack(args[8 * i - 6])
        return owner
    end

    -- Opens the line of the i-th, or answers why it is refused.
    local function open_to(i)
        local key, nonce = keys[i], nonce_of(i)
        local withdrawn = redis.call('EXISTS', key .. ':left:' .. nonce) == 1
        if withdrawn then return nil, { 'withdrawn', i - 1 } end
        local line = open(key, { nonce }, found)
        if not next_fence(line.fence) then return nil, { 'fence', i - 1, line.fence } end
        return line
    end

    -- The first contender decides what the resource is like. Whether this one agrees.
    local function agrees(line, capacity, fairness)
        if line.holders + line.waiters == 0 then
            line.capacity, line.fairness = capacity, fairness
        end
        return line.capacity == capacity and line.fairness == fairness
    end

    -- The i-th at the end of the line, not yet waiting or admitted.
    local function newcomer(line, i)
        local at = 8 * i - 8
        local one = contender(args[at + 1], nil, 'gone', line.next_ticket, tonumber(args[at + 3]),
            0, 0, 0, now, 0, cmsgpack.unpack(args[at + 2]))
        line.next_ticket = line.next_ticket + 1
        keep(line, one, args[at + 7])
        return one
    end

    -- The hold of this owner that has a place of its own.
    local function hold_of(line, owner)
        return first_holder(line, function(one)
            return one.phase == 'admitted' and one.weight > 0 and one.owner == owner
        end)
    end

    -- Joins a hold: same fence, no weight, past all waiters.
    local function join(line, i, hold)
        local one = newcomer(line, i)
        one.weight, one.fence = 0, hold.fence
        add_holder(line, one, 'admitted')
        return { ADMITTED, one.ticket, one.fence, -1 }
    end

    -- By the admission rule, for one behind everybody.
    local function enter_new(line, i, weight)
        local ahead = line.fairness == 'f' and line.waiting or 0
        if has_room(line, ahead + weight) then
            local one = newcomer(line, i)
            admit(line, one)
            return { ADMITTED, one.ticket, one.fence, -1 }
        end
        local waits = args[8 * i - 2] == 'w'
        if not waits then return { GONE, 0, 0, -1 } end
        local one = newcomer(line, i)
        add_waiter(line, one)
        local state, fence, look_again = still_waiting(line, one)
        return { state, one.ticket, fence, look_again }
    end

    -- Answers { state, ticket, fence, look }, or nil and why it is refused.
    local function enter(line, i)
        local known = line.known[nonce_of(i)]
        if known then
            local state, fence, look_again = enter_again(line, known, args[8 * i - 1])
            return { state, known.ticket, fence, look_again }
        end
        advance(line)
        local weight, capacity, fairness, joins = terms_of(i)
        if not agrees(line, capacity, fairness) then
            return nil, { 'conflict', i - 1, line.capacity, line.fairness }
        end
        local hold = joins and hold_of(line, owner_of(i))
        if not hold then return enter_new(line, i, weight) end
        if weight > hold.weight then return nil, { 'deadlock', i - 1 } end
        return join(line, i, hold)
    end

    local lines = {}
    for i = 1, #keys do
        local line, refusal = open_to(i)
        if refusal then return refusal end
        lines[i] = line
    end

    local reply, looked_at, answer, refusal = {}, 0, nil, nil
    repeat
        looked_at = looked_at + 1
        answer, refusal = enter(lines[looked_at], looked_at)
        for _, value in ipairs(answer or {}) do reply[#reply + 1] = value end
    until refusal or answer[1] ~= ADMITTED or looked_at == #lines

    -- All or none: those before leave again, and nobody has seen the fences that they would have
    -- had.
    if refusal or answer[1] == GONE then
        for i = 1, looked_at - 1 do
            take_out(lines[i], lines[i].known[nonce_of(i)])
            lines[i].fence_given = false
        end
    end
    for i = 1, looked_at do save(lines[i]) end
    return refusal or reply
end
