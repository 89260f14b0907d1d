-- How a contender enters when nobody is there; nothing is answered when somebody is. Its fence says
-- it all: such a one is admitted, with the first ticket. Needs clock.lua.

-- include quiet_fence.lua

local function enter_quietly(line_key, fence_key, entrant, lifetime)
    if redis.call('GET', line_key) then return end
    local fence = take_fence(fence_key)
    if not fence then return end
    redis.call('SET', line_key, 'q' .. clock .. clock .. clock .. entrant, 'PX', lifetime)
    return fence
end
