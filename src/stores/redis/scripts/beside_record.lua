-- A record of ours: what the lock calls the hold, its fence, the serial of its latest renewal,
-- since when it is held (ms), and who it is: pid, the size of the host's name, and host and owner,
-- which may have any byte in them.

local function record_of(hold, fence, verdict)
    local contender = verdict.contender
    return hold .. ' ' .. fence .. ' ' .. (contender.serial or '0') .. ' ' ..
           string.format('%.0f', math.floor(verdict.now / 1000)) .. contender.who
end

-- Whether a renewal is older than one that is recorded already: then it comes late, and changes
-- nothing. A repeated enter has no serial.
local function is_late(contender, record)
    local latest = string.match(record, '^%S+ %d+ (%d+) ')
    return contender.serial and latest and tonumber(contender.serial) < tonumber(latest)
end

-- The record as the renewal leaves it.
local function renewed_record(contender, record)
    if not contender.serial then return record end
    return (string.gsub(record, '^(%S+ %d+) %d+', '%1 ' .. contender.serial, 1))
end

-- A record, taken apart for listings.
local function parsed(record)
    local hold, fence, since, pid, host_size, text =
        string.match(record, '^(%S+) (%d+) %d+ (%d+) (%d+) (%d+) (.*)$')
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
