#!lua
-- Puts contenders into their lines, in order, up to the first that is not admitted.
-- KEYS: {R} of each. ARGV, for each: nonce, client, owner, host, pid, weight, capacity, fairness
-- ('f', 'b'), patience ('w', 'n'), lease in milliseconds, reenter ('0', '1').
-- Answers, for each looked at: state, ticket, fence, look. When the last of them is gone (busy,
-- and it does not wait), or one is refused, nothing of this request is left in any line.
-- No allow-oom: without memory it is refused before it did anything.

-- include line.lua

local function contender(i)
    local at = 11 * (i - 1)
    local one = {
        nonce = ARGV[at + 1],
        client = ARGV[at + 2],
        owner = ARGV[at + 3],
        host = ARGV[at + 4],
        pid = ARGV[at + 5],
        weight = tonumber(ARGV[at + 6]),
        phase = GONE,
        fence = 0,
        claim_end = 0,
        since = now,
    }
    return one, {
        weight = one.weight,
        capacity = tonumber(ARGV[at + 7]),
        fairness = ARGV[at + 8],
        waits = ARGV[at + 9] == 'w',
        lease = tonumber(ARGV[at + 10]),
        reenters = ARGV[at + 11] == '1',
    }
end

-- Opens the line of the i-th, or answers why it is refused.
local function open_to(i)
    local key, nonce, weight = KEYS[i], ARGV[11 * i - 10], tonumber(ARGV[11 * i - 5])
    local line = open(key, { nonce })
    local values = call('MGET', key .. ':left:' .. nonce, key .. ':fence')
    if values[1] then return nil, { 'withdrawn', i - 1 } end
    -- MGET takes what is no string for nothing; GET does not.
    local fence = values[2] or call('GET', key .. ':fence')
    if not accept_fence(line, fence) then return nil, { 'fence', i - 1, fence } end
    if not line.stored then return line end
    local simple = is_quiet(line) and (line.known[nonce] or admits(line, weight))
    if not simple then open_waiters(line, { nonce }) end
    return line
end

-- The hold of this owner that has a place of its own.
local function hold_of(line, owner)
    for _, one in ipairs(all_holders(line)) do
        if one.phase == ADMITTED and one.weight > 0 and one.owner == owner then return one end
    end
end

local function join(line, one, hold)
    one.weight, one.fence = 0, hold.fence
    add_holder(line, one, ADMITTED)
end

-- Answers state, ticket, fence and look, or nil and why it is refused.
local function enter(line, i)
    local one, terms = contender(i)
    local known = line.known[one.nonce]
    if known then
        local state, fence, look_again = renew(line, known, terms.lease)
        return state, known.ticket, fence, look_again
    end
    if line.stored then advance(line) end
    if is_empty(line) then line.capacity, line.fairness = terms.capacity, terms.fairness end
    if line.capacity ~= terms.capacity or line.fairness ~= terms.fairness then
        return nil, { 'conflict', i - 1, line.capacity, line.fairness }
    end
    local hold = terms.reenters and hold_of(line, one.owner)
    if hold and hold.weight < one.weight then return nil, { 'deadlock', i - 1 } end
    if not (hold or terms.waits or admits(line, one.weight)) then return GONE, 0, 0, -1 end

    one.ticket = line.next_ticket
    line.next_ticket = one.ticket + 1
    keep(line, one, terms.lease)
    if hold then
        join(line, one, hold)
    elseif admits(line, one.weight) then
        admit(line, one)
    else
        add_waiter(line, one, WAITING)
        local state, _, look_again = waiting_state(line, one)
        return state, one.ticket, 0, look_again
    end
    return ADMITTED, one.ticket, one.fence, -1
end

-- All or none: the first ones leave again, and what they would have had was never seen.
local function take_back(lines, count)
    for i = 1, count do
        local line = lines[i]
        take_out(line, line.known[ARGV[11 * i - 10]])
        line.fence_given = nil
    end
end

local lines = {}
for i = 1, #KEYS do
    local line, refusal = open_to(i)
    if refusal then return refusal end
    lines[i] = line
end

local reply, looked_at, state = {}, 0, ADMITTED
while state == ADMITTED and looked_at < #lines do
    looked_at = looked_at + 1
    local ticket, fence, look_again
    state, ticket, fence, look_again = enter(lines[looked_at], looked_at)
    if state then
        local at = #reply
        reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = state, ticket, fence, look_again
    else
        reply = ticket
    end
end
if state == GONE or not state then take_back(lines, looked_at - 1) end
for i = 1, looked_at do save(lines[i]) end
return reply
