#!lua flags=no-writes
-- Who holds a resource and who waits for it. Shows nothing that is over.
-- KEYS[1]: {R}. Answers {} when nobody is there, else { capacity, fairness, holders, waiters },
-- both in ticket order, each { nonce, owner, weight, fence, lease left, host, pid, age, ticket }.

-- include layout.lua

local head = redis.call('HGET', KEYS[1], 'head')
if not head then return {} end

-- include line.lua
-- include moving.lua

local function all_waiters(line)
    local fields = redis.call('HGETALL', line.records)
    for i = 1, #fields, 2 do
        local nonce = fields[i]
        line.known[nonce] = contender(nonce, line.records, cmsgpack.unpack(fields[i + 1]))
    end
    local found = {}
    for _, one in pairs(line.known) do
        if is_waiter(one) and one.lease_end > now then found[#found + 1] = one end
    end
    return found
end

local function places(contenders)
    table.sort(contenders, function(one, other) return one.ticket < other.ticket end)
    local found = {}
    for i, one in ipairs(contenders) do
        found[i] = { one.nonce, one.owner, one.weight, one.fence, one.lease_end - now,
            one.host, tonumber(one.pid) or 0, now - one.since, one.ticket }
    end
    return found
end

-- Ends what is overdue in memory alone: nothing is saved.
local line = line_of(KEYS[1], cmsgpack.unpack(head))
end_overdue_holders(line)
local holders, waiters = places(all_holders(line)), places(all_waiters(line))
if #holders + #waiters == 0 then return {} end
return { line.capacity, line.fairness, holders, waiters }
