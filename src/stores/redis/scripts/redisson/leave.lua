#!lua flags=allow-oom
-- include ../beside.lua
-- include lock.lua
-- include leaving.lua

-- The hold on a field, ours or not, as inspect lists it.
local function hold_on(lock, field)
    local found = redis.call('HMGET', lock.name, 'mode', field)
    local count = found[2] and tonumber(found[2])
    if not count then return nil end
    local writer = found[1] and string.match(field, '^(.*):write$')
    local mode = not found[1] and 'x' or writer and 'w' or 'r'
    return {mode = mode, owner = writer or field, count = count}
end

local lock, nonce, lifetime_ms, broken = lock_at(KEYS[1]), ARGV[1], ARGV[2], ARGV[3]
local hold
if broken == '' then
    hold = hold_of(lock, nonce)
    if hold then count_down(lock, hold, nonce) else redis.call('HDEL', lock.holds, nonce) end
else
    hold = hold_on(lock, broken)
    if hold then
        hold.fence = forget_all(lock, hold.mode, hold.owner)
        remove(lock, hold)
    end
end
plant_tombstone(lock.tag, nonce, lifetime_ms)
if not hold then return {gone, 0} end
return {admitted, hold.fence}
