#!lua flags=allow-oom
-- include ../names.lua
-- include ../beside.lua
-- include lock.lua
-- include holds.lua
-- include leaving.lua

-- Ends the hold on a field as inspect lists it, ours or not, whatever its count.
local function break_field(lock, field)
    local found = redis.call('HMGET', lock.name, 'mode', field)
    local count = found[2] and tonumber(found[2])
    if not count then return nil end
    local writer = found[1] and string.match(field, '^(.*):write$')
    local mode = not found[1] and 'x' or writer and 'w' or 'r'
    local hold = {mode = mode, owner = writer or field, count = count}
    hold.fence = forget_all(lock, mode, hold.owner)
    remove(lock, hold)
    return hold
end

local lock, nonce, lifetime_ms, broken = lock_at(KEYS[1]), ARGV[1], ARGV[2], ARGV[3]
local hold
need_rights(lock)
if lifetime_ms ~= '0' then need('SET', 'holdfast_left:' .. lock.tag .. ':' .. nonce) end
if broken then
    hold = break_field(lock, broken)
else
    hold = hold_of(lock, nonce)
    if hold then count_down(lock, hold, nonce) else redis.call('HDEL', lock.holds, nonce) end
end
if lifetime_ms ~= '0' then
    redis.call('SET', 'holdfast_left:' .. lock.tag .. ':' .. nonce, '1', 'PX', lifetime_ms)
end
return hold and admitted or gone
