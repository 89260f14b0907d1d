#!lua flags=no-writes
-- include ../names.lua
-- include ../beside.lua
-- include ../beside_record.lua
-- include lock.lua

-- Our records, by the hold that they tell of.
local function records_of(lock)
    local all, found = {}, redis.call('HGETALL', lock.holds)
    for i = 1, #found, 2 do
        local record = parsed(found[i + 1])
        if record then
            record.nonce = found[i]
            all[record.hold] = all[record.hold] or {}
            table.insert(all[record.hold], record)
        end
    end
    return all
end

-- Other hashes may be found under the same prefix: an owner ends with a thread's number.
local function hold_in(field, count, has_mode)
    local writer = has_mode and string.match(field, '^(.*):write$')
    local owner = writer or field
    if not string.find(owner, ':%-?%d+$') or not string.find(count, '^%d+$') then return nil end
    return not has_mode and 'x' or writer and 'w' or 'r', owner, tonumber(count)
end

local lock = lock_at(KEYS[1])
local fields = redis.call('HGETALL', lock.name)
if #fields == 0 then return {} end
local has_mode = redis.call('HEXISTS', lock.name, 'mode') == 1
local left = redis.call('PTTL', lock.name)
local records = records_of(lock)
local reply = {}
for i = 1, #fields, 2 do
    local field = fields[i]
    local mode, owner, count = hold_in(field, fields[i + 1], has_mode)
    local its_left = mode == 'r' and read_lease_left(lock, owner, count) or left
    if mode and (mode ~= 'r' or its_left > 0) then
        for _, record in ipairs(records[mode .. owner] or {false}) do
            reply[#reply + 1] = record and
                {record.nonce, record.owner, record.fence, its_left, record.host, record.pid,
                 record.age, mode, field} or
                {'', owner, 0, its_left, '', 0, -1, mode, field}
        end
    end
end
return reply
