#!lua flags=allow-oom
-- Answers whether it held the lock, as a state.
-- include ../names.lua
local name, nonce, lifetime_ms, broken = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local value = redis.call('GET', name)
if value == nonce and lifetime_ms == '0' and not broken then
    redis.call('DEL', name)
    return 3
end

-- include ../clock.lua
-- include ../beside.lua
-- include lock.lua

local tag, holds = tag_and_holds(name)

-- While it is remembered beside the lock that there are tombstones, whoever enters looks for its
-- own.
local function plant_tombstone()
    local beside = redis.call('GETEX', holds)
    local last, _, record = taken_apart(beside)
    if not last then error({ err = 'WRONGTYPE this is no record of holdfast' }) end
    local left_until = microseconds + 1000 * lifetime_ms
    redis.call('SET', 'holdfast_left:' .. tag .. ':' .. nonce, '1', 'PX', lifetime_ms)
    redis.call('SET', holds, string.format('%016.0f%016.0f', last, left_until) .. record, 'PXAT',
               string.format('%.0f', math.max(last, left_until) / 1000 + 90001000))
end

local is_there = value == nonce
if broken then is_there = value and redis.sha1hex(value) == broken end  -- as inspect tells
if is_there then need('DEL', name) end
if lifetime_ms ~= '0' then plant_tombstone() end
if not is_there then return gone end
redis.call('DEL', name)
return admitted
