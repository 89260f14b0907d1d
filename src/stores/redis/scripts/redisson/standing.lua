#!lua flags=allow-oom
-- include ../names.lua
-- include ../beside.lua
-- include lock.lua
-- include holds.lua

local lock, nonce, mode, believes = lock_at(KEYS[1]), ARGV[1], ARGV[2], ARGV[3]
local mode_word = redis.call('HGET', lock.name, 'mode')
local hold = hold_of(lock, nonce)
if hold then return {admitted, hold.fence, -1} end
if believes == 'h' then return {gone, 0, -1} end
if mode == 'r' and mode_word == 'read' or redis.call('HLEN', lock.name) == 0 then
    return {offered, 0, -1}  -- and nothing is reserved: its renewal decides
end
return {waiting, 0, redis.call('PTTL', lock.name)}
