#!lua flags=no-writes
-- Who holds a resource and who waits for it, a page at a time. Shows nothing that is over.
-- KEYS: two or seven, see layout.lua. ARGV: where the page begins, '' for the first.
-- Answers {} when nobody is there, else { capacity, fairness, holders, waiters, next }: `next` is
-- where the next page begins, '' behind the last. Each place is { nonce, owner, weight, fence,
-- lease left, host, pid, age, ticket }, in no order; who moves meanwhile may be seen twice.

local stored = redis.call('GET', KEYS[1])
if not stored then return {} end

-- include ../clock.lua
-- include layout.lua
-- include line.lua

local PAGE = 500

local line = line_at(keys_at(1, #KEYS), stored)
if line.holders + line.waiters == 0 then return {} end
local holders, waiters = {}, {}

local function place_of(one)
    return { one.nonce, one.owner, one.weight, one.fence, one.lease_end - now, one.host,
        tonumber(one.pid) or 0, now - one.since, one.ticket }
end

-- One whose claim is over waits again as soon as somebody looks.
local function show(one)
    if one.lease_end <= now then return end
    local unclaimed = one.phase == 'offered' and one.claim_end <= now
    local places = is_holder(one) and not unclaimed and holders or waiters
    places[#places + 1] = place_of(one)
end

-- Shows what the scan of a key comes upon. Answers where it goes on, '0' when it is through.
local function scan(key, cursor)
    local found = redis.call('HSCAN', key, cursor, 'COUNT', PAGE)
    local fields = found[2]
    for i = 1, #fields, 2 do
        show(contender(fields[i], key, cmsgpack.unpack(fields[i + 1])))
    end
    return found[1]
end

local which, cursor = string.match(ARGV[1], '^(%l)(%d+)$')
if which ~= 'w' then
    for _, one in pairs(line.known) do show(one) end
    cursor = line.in_hash and scan(line.crowd, cursor or '0') or '0'
    if cursor ~= '0' then
        return { line.capacity, line.fairness, holders, waiters, 'h' .. cursor }
    end
end
-- All of them may have gone since the page before.
cursor = line.waiters > 0 and scan(line.records, cursor) or '0'
local rest = cursor == '0' and '' or 'w' .. cursor
return { line.capacity, line.fairness, holders, waiters, rest }
