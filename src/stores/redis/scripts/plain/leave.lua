#!lua flags=allow-oom
-- include ../beside.lua
-- include lock.lua

local name, nonce, lifetime_ms, broken = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local tag, holds = tag_and_holds(name)
local value = redis.call('GET', name)
local ended = broken ~= '' and broken or nonce
local fence = value == ended and fence_beside(holds, value) or 0
plant_tombstone(tag, nonce, lifetime_ms)
if value ~= ended then return {gone, 0} end
redis.call('DEL', name, holds)
return {admitted, fence}
