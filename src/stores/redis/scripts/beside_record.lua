-- A record of ours: what the lock calls the hold, its fence, since when it is held (ms), pid, the
-- size of the host's name, and host and owner, which may have any byte in them.

local function record_of(hold, fence, verdict)
    local contender = verdict.contender
    return hold .. ' ' .. fence .. ' ' .. string.format('%.0f', math.floor(verdict.now / 1000)) ..
           ' ' .. contender.pid .. ' ' .. #contender.host .. ' ' .. contender.host ..
           contender.owner
end

-- A record, taken apart for listings.
local function parsed(record)
    local hold, fence, since, pid, host_size, text =
        string.match(record, '^(%S+) (%d+) (%d+) (%d+) (%d+) (.*)$')
    if not hold then return nil end
    local time = redis.call('TIME')
    return {
        hold = hold,
        fence = tonumber(fence),
        age = math.max(0, math.floor(time[1] * 1000 + time[2] / 1000) - since),
        pid = tonumber(pid),
        host = string.sub(text, 1, host_size),
        owner = string.sub(text, host_size + 1),
    }
end
