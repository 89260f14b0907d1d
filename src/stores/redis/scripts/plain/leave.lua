#!lua flags=allow-oom
-- include ../names.lua
local name, nonce, lifetime_ms, broken = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local tag, holds = tag_and_holds(name)
local value = redis.call('GET', name)

-- The usual case: its fence says it all.
if value == nonce and lifetime_ms == '0' and broken == '' then
    local beside = redis.call('GETEX', holds)
    if beside and string.sub(beside, 33, 64) == nonce then
        redis.call('DEL', name)
        return tonumber(string.sub(beside, 66, 81))
    end
end

-- include ../clock.lua
-- include ../beside.lua
-- include lock.lua

-- While it is remembered beside the lock that there are tombstones, whoever enters looks for its
-- own.
local function plant_tombstone()
    local beside = redis.call('GETEX', holds)
    local last, _, record = taken_apart(beside)
    if not last then error({ err = 'WRONGTYPE this is no record of holdfast' }) end
    local left_until = microseconds + 1000 * lifetime_ms
    redis.call('SET', 'holdfast_left:' .. tag .. ':' .. nonce, '1', 'PX', lifetime_ms)
    redis.call('SET', holds, string.format('%016.0f%016.0f', last, left_until) .. record, 'PXAT',
               string.format('%.0f', math.max(last, left_until) / 1000 + 86400000))
end

local is_there = value == nonce
if broken ~= '' then is_there = value and redis.sha1hex(value) == broken end  -- as inspect tells
local fence = is_there and fence_beside(holds, value) or 0
if is_there then need('DEL', name) end
if lifetime_ms ~= '0' then plant_tombstone() end
if not is_there then return {gone, 0} end
redis.call('DEL', name)
return {admitted, fence}
