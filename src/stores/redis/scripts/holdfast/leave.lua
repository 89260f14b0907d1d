#!lua flags=allow-oom
-- Takes a contender out of its line and passes its place on.
-- KEYS[1]: {R}. ARGV: nonce, for how many milliseconds a delayed enter of it is refused (0: not).
-- Answers state and fence: where it stood, gone when it was not there or its lease was over.

-- include line.lua

local nonce, tombstone_time = ARGV[1], ARGV[2]

local line = open_with(KEYS[1], { nonce })
local one = line.known[nonce]
if tombstone_time ~= '0' then
    -- With GET it refuses to overwrite what is no tombstone.
    call('SET', KEYS[1] .. ':left:' .. nonce, '', 'PX', tombstone_time, 'GET')
end
if not one then return { GONE, 0 } end

local state = GONE
if one.lease_end > now then state = one.phase == LAPSED and WAITING or one.phase end
take_out(line, one)
save(line)
return { state, state == ADMITTED and one.fence or 0 }
