#!lua flags=allow-oom
-- include ../names.lua
-- include ../beside.lua
-- include lock.lua

local name, nonce, believes = KEYS[1], ARGV[1], ARGV[3]
local value = redis.call('GET', name)
if value == nonce then
    local _, holds = tag_and_holds(name)
    local fence = fence_beside(holds, nonce)
    if fence or believes == 'h' then return {admitted, fence or 0, -1} end
    return {offered, 0, -1}  -- its renewal gives it a fence
end
if believes == 'h' then return {gone, 0, -1} end
if not value then return {offered, 0, -1} end  -- and nothing is reserved: its renewal decides
return {waiting, 0, redis.call('PTTL', name)}
