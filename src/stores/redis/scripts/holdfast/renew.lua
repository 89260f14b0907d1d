#!lua flags=allow-oom
-- Extends the leases of contenders of one line and claims what is offered to them. Never
-- re-creates: who is not there is gone.
-- KEYS: two or seven, see layout.lua. ARGV: lease in milliseconds, serial, nonce... Answers, for
-- each: state, fence, and the look of one that waits, else the clock.

-- include ../clock.lua
-- include layout.lua
-- include quiet_renew.lua
local lease, serial, nonces = tonumber(ARGV[1]), tonumber(ARGV[2]), { unpack(ARGV, 3) }
if #nonces == 1 then
    local renewed = renew_quietly(KEYS, lease, serial, nonces[1])
    if renewed then return renewed end
end

local function go_long_way()
    -- include line.lua
    -- include moving.lua

    local line = open(keys_at(1, #KEYS), nonces)

    -- Who is not admitted yet may be by this, and needs a fence then.
    local candidates, first = 0, nil
    for i, nonce in ipairs(nonces) do
        local one = line.known[nonce]
        if one and one.phase ~= 'admitted' then
            candidates, first = candidates + 1, first or i
        end
    end
    if first and not next_fence(bucket_of(line), candidates) then
        return { 'fence', first - 1, bucket_of(line).last }
    end

    local reply = {}
    for _, nonce in ipairs(nonces) do
        local at = #reply
        reply[at + 1], reply[at + 2], reply[at + 3] = renew(line, line.known[nonce], lease, serial)
        if reply[at + 1] ~= WAITING then reply[at + 3] = microseconds end
    end
    if line.stored then save(line) end
    return reply
end
return go_long_way()
