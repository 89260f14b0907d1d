-- A block, for it costs less than a function. Takes the place of `line_key` when nobody is there,
-- and answers the fence, which says it all: such a one is admitted, with the first ticket. Else it
-- has changed nothing, but that the bucket may count a fence as given that nobody has. Needs
-- clock.lua.

-- Kept until a day after its own time, and a second.
local last = redis.call('SET', fence_key, clock, 'EX', '86401', 'GET')
local before = tonumber(last or 0)
if before and before < microseconds then
    local line = redis.call('SET', line_key, 'q' .. clock .. clock .. clock .. entrant,
        'PX', lifetime, 'NX', 'GET')
    if not line then return microseconds end
elseif before and before <= 9007199254740991 then
    redis.call('SET', fence_key, last, 'PXAT', string.format('%.0f', before / 1000 + 86401000))
else
    redis.call('SET', fence_key, last) -- which is no fence
end
