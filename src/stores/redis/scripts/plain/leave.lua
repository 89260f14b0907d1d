#!lua flags=allow-oom
-- include ../beside.lua
-- include lock.lua

local name, nonce, lifetime_ms, broken = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local tag, holds = tag_and_holds(name)
local value = redis.call('GET', name)
local is_there = value == nonce
if broken ~= '' then is_there = value and redis.sha1hex(value) == broken end  -- as inspect tells
local fence = is_there and fence_beside(holds, value) or 0
if is_there then need('DEL', name, holds) end
if lifetime_ms ~= '0' then
    redis.call('SET', 'holdfast_left:' .. tag .. ':' .. nonce, '1', 'PX', lifetime_ms)
end
if not is_there then return {gone, 0} end
redis.call('DEL', name, holds)
return {admitted, fence}
