#!lua flags=allow-oom
-- Extends the leases of contenders of one line and claims what is offered to them. Never
-- re-creates: who is not there is gone.
-- KEYS[1]: {R}. ARGV: lease in milliseconds, nonce... Answers, for each: state, fence, look.

-- include line.lua

local lease, nonces = tonumber(ARGV[1]), { unpack(ARGV, 2) }
local line = open(KEYS[1], nonces)

-- Who is not admitted yet may be by this, and needs a fence then.
local function find_fence()
    for i, nonce in ipairs(nonces) do
        local one = line.known[nonce]
        if one and one.phase ~= 'admitted' then
            local fence = redis.call('GET', line.key .. ':fence')
            return not accept_fence(line, fence) and { 'fence', i - 1, fence }
        end
    end
end

local simple = line.stored and is_quiet(line)
for _, nonce in ipairs(nonces) do simple = simple and line.known[nonce] end

local reply = {}
if simple then
    local refusal = find_fence()
    if refusal then return refusal end
    for _, nonce in ipairs(nonces) do
        local one, at = line.known[nonce], #reply
        keep(line, one, lease)
        if one.phase == 'admitted' then note_end(line, one) else admit(line, one) end
        reply[at + 1], reply[at + 2], reply[at + 3] = ADMITTED, one.fence, -1
    end
    save_quiet(line)
    return reply
end

-- include waiters.lua

if line.stored then open_waiters(line, nonces) end
local refusal = find_fence()
if refusal then return refusal end
for _, nonce in ipairs(nonces) do
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = renew(line, line.known[nonce], lease)
end
if line.stored then save(line) end
return reply
