-- How a contender leaves: see leave.lua for keys, args and the answer. Needs moving.lua.

-- While the line remembers a tombstone, whoever enters looks for its own.
local function plant_tombstone(line, nonce, time)
    line.left_until = math.max(line.left_until, line.now + time)
    need('ZADD', line.left)
    need('PEXPIREAT', line.left)
    redis.call('ZREMRANGEBYSCORE', line.left, '-inf', string.format('%.0f', line.now))
    redis.call('ZADD', line.left, string.format('%.0f', line.now + time), nonce)
    redis.call('PEXPIREAT', line.left, ending(line.left_until))
end

local function leave(keys, args, stored)
    local nonce, time = args[1], tonumber(args[2])
    local line = open(keys, { nonce }, stored)
    local one = line.known[nonce]
    if time > 0 then plant_tombstone(line, nonce, time) end

    local state = GONE
    if one then
        if one.lease_end > now then
            state = one.phase == 'admitted' and ADMITTED or one.phase == 'offered' and OFFERED
                or WAITING
        end
        take_out(line, one)
    end
    if one or time > 0 then save(line) end
    return state
end
