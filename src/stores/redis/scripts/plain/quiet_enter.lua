-- How the lock is taken when it is free; nothing is answered when it is not. Its fence says it all. Of
-- one contender, with the arguments of enter.lua. Needs ../clock.lua and lock.lua.
local function enter_quietly(name, nonce, owner, host, pid, lease)
    if redis.call('GET', name) then return end
    local _, holds = tag_and_holds(name)
    local before = redis.call('SET', holds,
        clock .. NO_TOMBSTONE .. nonce .. ' ' .. clock .. ' 0 ' .. string.sub(clock, 1, 13) .. ' ' ..
            pid .. ' ' .. #host .. ' ' .. host .. owner,
        'EX', '86401', 'GET')
    local last, left_until = taken_apart(before)
    if not last or not left_until or last >= microseconds or left_until > microseconds then
        redis.call('SET', holds, before, 'EX', '86401')
        return
    end
    redis.call('SET', name, nonce, 'PX', lease)
    return microseconds
end
