#!lua
-- Puts contenders into their lines, in order, up to the first that is not admitted.
-- KEYS: {R} of each. ARGV, for each: nonce, client, owner, host, pid, weight, capacity, fairness
-- ('f', 'b'), patience ('w', 'n'), lease in milliseconds, reenter ('0', '1').
-- Answers, for each looked at: state, ticket, fence, look. When the last of them is gone (busy,
-- and it does not wait), or one is refused, nothing of this request is left in any line.
-- No allow-oom: without memory it is refused before it did anything.

-- include line.lua

-- What the i-th asks for: weight, capacity, fairness, and whether it may join its owner's hold.
local function terms_of(i)
    local at = 11 * i - 11
    return tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7]), ARGV[at + 8], ARGV[at + 11] == '1'
end

-- Opens the line of the i-th, or answers why it is refused.
local function open_to(i)
    local key, nonce = KEYS[i], ARGV[11 * i - 10]
    local line = open(key, { nonce })
    local values = redis.call('MGET', key .. ':left:' .. nonce, key .. ':fence')
    if values[1] then return nil, { 'withdrawn', i - 1 } end
    -- MGET takes what is no string for nothing; GET does not.
    local fence = values[2] or redis.call('GET', key .. ':fence')
    if not accept_fence(line, fence) then return nil, { 'fence', i - 1, fence } end
    return line
end

-- The first contender decides what the resource is like. Whether this one agrees.
local function agrees(line, capacity, fairness)
    if line.holders + line.waiters == 0 then line.capacity, line.fairness = capacity, fairness end
    return line.capacity == capacity and line.fairness == fairness
end

-- The admission rule, for a newcomer behind everybody.
local function admits(line, weight)
    return has_room(line, weight + (line.fairness == 'f' and line.waiting or 0))
end

-- The i-th at the end of the line, not yet waiting or admitted.
local function newcomer(line, i)
    local at = 11 * i - 11
    local one = contender(ARGV[at + 1], nil, 'gone', line.next_ticket, tonumber(ARGV[at + 6]), 0, 0,
        0, line.now, ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
    line.next_ticket = line.next_ticket + 1
    keep(line, one, ARGV[at + 10])
    return one
end

local function answer(reply, state, ticket, fence, look_again)
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = state, ticket, fence, look_again
end

local lines, simple = {}, true
for i = 1, #KEYS do
    local line, refusal = open_to(i)
    if refusal then return refusal end
    lines[i] = line
    local weight, capacity, fairness, joins = terms_of(i)
    simple = simple and is_quiet(line) and not line.known[ARGV[11 * i - 10]] and not joins
        and agrees(line, capacity, fairness) and admits(line, weight)
end

local reply = {}
if simple then
    for i, line in ipairs(lines) do
        local one = newcomer(line, i)
        admit(line, one)
        save_quiet(line)
        answer(reply, ADMITTED, one.ticket, one.fence, -1)
    end
    return reply
end

-- include waiters.lua

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
    return ADMITTED, one.ticket, one.fence, -1
end

local function enter_new(line, i, weight)
    if admits(line, weight) then
        local one = newcomer(line, i)
        admit(line, one)
        return ADMITTED, one.ticket, one.fence, -1
    end
    local waits = ARGV[11 * i - 2] == 'w'
    if not waits then return GONE, 0, 0, -1 end
    local one = newcomer(line, i)
    add_waiter(line, one)
    local state, fence, look_again = still_waiting(line, one)
    return state, one.ticket, fence, look_again
end

-- Answers state, ticket, fence and look, or nil and why it is refused.
local function enter(line, i)
    local known = line.known[ARGV[11 * i - 10]]
    if known then
        local state, fence, look_again = renew(line, known, ARGV[11 * i - 1])
        return state, known.ticket, fence, look_again
    end
    advance(line)
    local weight, capacity, fairness, joins = terms_of(i)
    if not agrees(line, capacity, fairness) then
        return nil, { 'conflict', i - 1, line.capacity, line.fairness }
    end
    local hold = joins and hold_of(line, ARGV[11 * i - 8])
    if not hold then return enter_new(line, i, weight) end
    if weight > hold.weight then return nil, { 'deadlock', i - 1 } end
    return join(line, i, hold)
end

-- All or none: those before leave again, and nobody has seen the fences that they would have had.
local function take_back(count)
    for i = 1, count do
        local line = lines[i]
        take_out(line, line.known[ARGV[11 * i - 10]])
        line.fence_given = false
    end
end

for i, line in ipairs(lines) do open_waiters(line, { ARGV[11 * i - 10] }) end
local looked_at, state = 0, ADMITTED
while state == ADMITTED and looked_at < #lines do
    looked_at = looked_at + 1
    local ticket, fence, look_again
    state, ticket, fence, look_again = enter(lines[looked_at], looked_at)
    if state then answer(reply, state, ticket, fence, look_again) else reply = ticket end
end
if state == GONE or not state then take_back(looked_at - 1) end
for i = 1, looked_at do save(lines[i]) end
return reply
