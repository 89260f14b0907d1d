-- How contenders enter: see enter.lua for args and the answer; keys, for each, are its own. Needs
-- moving.lua.
local function enter(keys, args)
    buckets = {} -- another request of the same script may have given fences since
    local entrants = {}

    -- What the i-th is and asks for, and its line; or why it is refused.
    local function open_to(i)
        local entrant, manner = args[3 * i - 2], args[3 * i]
        local nonce = string.sub(entrant, 1, 32)
        local lease, _, weight, capacity, fairness, client, owner, host, pid =
            cmsgpack.unpack(string.sub(entrant, 33))
        local line = open(keys[i], { nonce })
        entrants[i] = {
            nonce = nonce, line = line, lease = tonumber(lease), weight = tonumber(weight),
            capacity = tonumber(capacity), fairness = fairness, client = client, owner = owner,
            host = host, pid = pid, waits = string.sub(manner, 1, 1) == 'w',
            joins = string.sub(manner, 2, 2) == '1',
        }
        local withdrawn = line.left_until > now and redis.call('ZSCORE', line.left, nonce)
        if withdrawn and tonumber(withdrawn) > now then return { 'withdrawn', i - 1 } end
        local bucket = bucket_of(line)
        if not next_fence(bucket) then return { 'fence', i - 1, bucket.last } end
    end

    -- The first contender decides what the resource is like. Whether this one agrees.
    local function agrees(line, entrant)
        if line.holders + line.waiters == 0 then
            line.capacity, line.fairness = entrant.capacity, entrant.fairness
        end
        return line.capacity == entrant.capacity and line.fairness == entrant.fairness
    end

    -- At the end of the line, not yet waiting or admitted.
    local function newcomer(line, entrant)
        local one = contender(entrant.nonce, nil, 'gone', line.next_ticket, entrant.weight, 0, 0, 0,
            now, 0, entrant.client, entrant.owner, entrant.host, entrant.pid)
        line.next_ticket = line.next_ticket + 1
        keep(line, one, entrant.lease)
        return one
    end

    -- The hold of this owner that has a place of its own.
    local function hold_of(line, owner)
        return first_holder(line, function(one)
            return one.phase == 'admitted' and one.weight > 0 and one.owner == owner
        end)
    end

    -- Joins a hold: same fence, no weight, past all waiters.
    local function join(line, entrant, hold)
        local one = newcomer(line, entrant)
        one.weight, one.fence = 0, hold.fence
        add_holder(line, one, 'admitted')
        return { ADMITTED, one.ticket, one.fence, -1 }
    end

    -- By the admission rule, for one behind everybody.
    local function enter_new(line, entrant)
        local ahead = line.fairness == 'f' and line.waiting or 0
        if has_room(line, ahead + entrant.weight) then
            local one = newcomer(line, entrant)
            admit(line, one)
            return { ADMITTED, one.ticket, one.fence, -1 }
        end
        if not entrant.waits then return { GONE, 0, 0, -1 } end
        local one = newcomer(line, entrant)
        add_waiter(line, one)
        local state, fence, look_again = still_waiting(line, one)
        return { state, one.ticket, fence, look_again }
    end

    -- Answers { state, ticket, fence, look }, or nil and why it is refused.
    local function enter_line(i)
        local entrant = entrants[i]
        local line = entrant.line
        local known = line.known[entrant.nonce]
        if known then
            local state, fence, look_again = enter_again(line, known, entrant.lease)
            return { state, known.ticket, fence, look_again }
        end
        advance(line)
        if not agrees(line, entrant) then
            return nil, { 'conflict', i - 1, line.capacity, line.fairness }
        end
        local hold = entrant.joins and hold_of(line, entrant.owner)
        if not hold then return enter_new(line, entrant) end
        if entrant.weight > hold.weight then return nil, { 'deadlock', i - 1 } end
        return join(line, entrant, hold)
    end

    for i = 1, #keys do
        local refusal = open_to(i)
        if refusal then return refusal end
    end

    local reply, looked_at, answer, refusal = {}, 0, nil, nil
    repeat
        looked_at = looked_at + 1
        answer, refusal = enter_line(looked_at)
        for _, value in ipairs(answer or {}) do reply[#reply + 1] = value end
    until refusal or answer[1] ~= ADMITTED or looked_at == #entrants

    -- All or none: those before leave again. That their fences count as given harms nobody.
    if refusal or answer[1] == GONE then
        for i = 1, looked_at - 1 do
            local entrant = entrants[i]
            take_out(entrant.line, entrant.line.known[entrant.nonce])
        end
    end
    for i = 1, looked_at do save(entrants[i].line) end
    return refusal or reply
end
