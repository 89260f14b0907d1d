-- What enter and renew of Redisson's layout share; the plain one keeps its fence with its record.
--
-- A layout's `judge` only reads. Its verdict on a contender has a `fence` when it can be admitted
-- (and `repeated` when it already is), a `failure`, or `look` when the lock is busy. `admit` then
-- writes.

-- Completes the verdict on one that nothing is in the way of. It has the fence of the hold that it
-- joins, if any.
local function judge_unhindered(verdict, tag, joined_fence)
    if redis.call('GETEX', 'holdfast_left:' .. tag .. ':' .. verdict.contender.nonce) then
        verdict.failure = 'withdrawn'
        return verdict
    end
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    verdict.now, verdict.fence = now, joined_fence or now
    if joined_fence then return verdict end

    need('SET', 'holdfast_fence:' .. tag)
    local last = redis.call('GETEX', 'holdfast_fence:' .. tag)
    if not last then return verdict end
    local number = string.find(last, '^%d+$') and tonumber(last)
    if number and number < 9007199254740991 then  -- 2^53 - 1: beyond it doubles skip numbers
        verdict.fence = math.max(number + 1, now)
    else
        verdict.fence, verdict.failure, verdict.planted = false, 'fence', last
    end
    return verdict
end

-- Keeps it until a day after its own time. Gives it in digits: Lua's own conversion has only 14.
local function keep_fence(tag, fence)
    local text = string.format('%.0f', fence)
    redis.call('SET', 'holdfast_fence:' .. tag, text, 'PXAT',
               string.format('%.0f', math.floor(fence / 1000) + 86400000))
    return text
end
