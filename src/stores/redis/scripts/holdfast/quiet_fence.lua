-- The clock as the next fence of a bucket, where it is later than the last one. Else nothing has
-- changed, and nothing is answered: it was set back, or the last one was planted. Needs clock.lua.
local function take_fence(fence_key)
    -- Kept for a day and a second after its own time.
    local last = redis.call('SET', fence_key, clock, 'EX', '86401', 'GET')
    if not last or #last == 16 and tonumber(last) < microseconds then return microseconds end
    redis.call('SET', fence_key, last)
end
