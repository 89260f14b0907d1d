-- A block, for it costs less than a function. Takes the place of `line_key` when nobody is there,
-- and answers the fence, which says it all: such a one is admitted, with the first ticket. Else it
-- has changed nothing, but that the bucket may count a fence as given that nobody has. Needs
-- clock.lua.
local last = redis.call('SET', fence_key, clock, 'KEEPTTL', 'GET')
local before = not last and 0 or tonumber(last)
if before and before < microseconds then
    -- The first of each hour has the fence kept for a day beyond it, and a second.
    if microseconds - before > microseconds % 3600000000 then
        redis.call('SET', fence_key, clock, 'EX', '90001')
    end
    local line = redis.call('SET', line_key, 'q' .. clock .. clock .. clock .. entrant,
        'PX', lifetime, 'NX', 'GET')
    if not line then return microseconds end
else
    redis.call('SET', fence_key, last, 'KEEPTTL')
end
