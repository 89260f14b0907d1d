#!lua flags=no-writes
-- Who holds a resource and who waits for it. Shows nothing that is over.
-- KEYS[1]: {R}. Answers {} when nobody is there, else { capacity, fairness, holders, waiters }, each
-- of these { nonce, owner, weight, fence, lease left, host, pid, age, ticket } in ticket order.

-- include line.lua

local function place(one)
    return { one.nonce, one.owner, one.weight, one.fence, one.lease_end - now,
        one.host, tonumber(one.pid), now - one.since, one.ticket }
end

local function by_ticket(contenders)
    table.sort(contenders, function(one, other) return one.ticket < other.ticket end)
    local places = {}
    for i, one in ipairs(contenders) do places[i] = place(one) end
    return places
end

local function all_waiters(line)
    local fields = line.waiters_stored > 0 and call('HGETALL', line.key .. ':waiters') or {}
    for i = 1, #fields, 2 do line.known[fields[i]] = decode(fields[i], fields[i + 1]) end
    local found = {}
    for _, one in pairs(line.known) do
        if is_waiter(one.phase) and one.lease_end > now then found[#found + 1] = one end
    end
    return found
end

-- In memory alone: nothing is saved.
local line = open(KEYS[1], {})
if not line.stored then return {} end
end_overdue_holders(line)
local holders, waiters = by_ticket(all_holders(line)), by_ticket(all_waiters(line))
if #holders + #waiters == 0 then return {} end
return { line.capacity, line.fairness, holders, waiters }
