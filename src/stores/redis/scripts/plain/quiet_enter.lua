-- A block, for it costs less than a function. Takes a lock that is free, and answers the fence,
-- which says it all. Else it has changed nothing: what it took it gives back by the same right.
-- Needs
-- ../clock.lua and ../names.lua.
if not redis.call('SET', name, nonce, 'PX', lease, 'NX', 'GET') then
    local _, holds = tag_and_holds(name)
    local record = clock .. NO_TOMBSTONE .. nonce .. ' ' .. clock .. ' 0 ' ..
        string.sub(clock, 1, 13) .. who
    local before = redis.pcall('SET', holds, record, 'KEEPTTL', 'GET')
    local is_text = type(before) == 'string'
    local last = not before and 0 or is_text and tonumber(string.sub(before, 1, 16))
    if last and last < microseconds and
        (not before or string.sub(before, 17, 32) == NO_TOMBSTONE) then
        -- The first of each hour has it kept for a day beyond that, and a second.
        if microseconds - last > microseconds % 3600000000 then
            redis.call('SET', holds, record, 'EX', '90001')
        end
        return microseconds
    end
    redis.call('SET', name, nonce, 'PXAT', '1') -- which is over
    if is_text then redis.call('SET', holds, before, 'KEEPTTL') end
end
