-- ARGV: lease, serial, and for each what stands in `renew`. Answers, for each: state, fence, and
-- the look of one that waits, else the clock.

-- The standing of one; nothing when it fails. Who believes to hold must be found to: it is never
-- let in anew.
local function renewed(verdict, admit)
    local lost = verdict.contender.believes == 'h' and not verdict.repeated
    if lost or verdict.failure == 'withdrawn' then return gone, 0, -1 end
    if verdict.failure == 'fence' then return nil end
    if not verdict.fence then return waiting, 0, verdict.look end
    if not verdict.late then admit(verdict) end
    return admitted, verdict.fence, -1
end

local function renew(judge, admit)
    local reply, failure = {}, nil
    local time = redis.call('TIME')
    for i = 0, (#ARGV - 2) / 5 - 1 do
        local at = 5 * i + 2
        local verdict = judge(KEYS[1], {
            nonce = ARGV[at + 1],
            believes = ARGV[at + 2],
            mode = ARGV[at + 3],
            who = ARGV[at + 4],
            reenter = ARGV[at + 5] == '1',
            lease = ARGV[1],
            serial = ARGV[2],
        })
        local state, fence, look = renewed(verdict, admit)
        if state ~= waiting then look = time[1] * 1000000 + time[2] end
        reply[3 * i + 1], reply[3 * i + 2], reply[3 * i + 3] = state, fence, look
        -- Told only when all others are renewed: it must not cost them their holds.
        if not state then failure = failure or {'fence', i, verdict.planted} end
    end
    return failure or reply
end
