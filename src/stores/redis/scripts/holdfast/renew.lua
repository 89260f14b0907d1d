#!lua flags=allow-oom
-- Extends the leases of contenders of one line and claims what is offered to them.
-- KEYS[1]: {R}. ARGV: lease in milliseconds, nonce... Answers, for each: state, fence, look.

-- include line.lua

local line = open_with(KEYS[1], { unpack(ARGV, 2) })

-- Who is not admitted yet may be by this, and needs a fence then.
for i = 2, #ARGV do
    local one = line.known[ARGV[i]]
    if one and one.phase ~= ADMITTED and not line.last_fence then
        local fence = call('GET', line.key .. ':fence')
        if not accept_fence(line, fence) then return { 'fence', i - 2, fence } end
    end
end

local lease, reply = tonumber(ARGV[1]), {}
for i = 2, #ARGV do
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = renew(line, line.known[ARGV[i]], lease)
end
if line.stored then save(line) end
return reply
