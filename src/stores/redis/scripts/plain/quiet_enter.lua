-- A block, for it costs less than a function. Takes a lock that is free, and answers the fence,
-- which says it all. Else it has changed nothing. Needs ../clock.lua and lock.lua.
if not redis.call('GET', name) then
    local before = redis.call('SET', holds,
        clock .. NO_TOMBSTONE .. nonce .. ' ' .. clock .. ' 0 ' .. string.sub(clock, 1, 13) .. who,
        'EX', '86401', 'GET')
    local last = not before and 0 or tonumber(string.sub(before, 1, 16))
    if last and last < microseconds and
        (not before or string.sub(before, 17, 32) == NO_TOMBSTONE) then
        redis.call('SET', name, nonce, 'PX', lease)
        return microseconds
    end
    redis.call('SET', holds, before, 'EX', '86401')
end
