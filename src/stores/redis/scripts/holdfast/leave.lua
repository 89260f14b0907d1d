#!lua flags=allow-oom
-- Takes a contender out of its line and passes its place on.
-- KEYS[1]: {R}. ARGV: nonce, for how many milliseconds a delayed enter of it is refused (0: not).
-- Answers state and fence: where it stood; gone when it was not there or its lease was over.

-- include line.lua

local nonce, tombstone_time = ARGV[1], ARGV[2]
local line = open(KEYS[1], { nonce })
local one = line.known[nonce]

local function plant_tombstone()
    if tombstone_time == '0' then return end
    -- With GET it refuses to overwrite what is no tombstone.
    redis.call('SET', KEYS[1] .. ':left:' .. nonce, '', 'PX', tombstone_time, 'GET')
end

if one and is_quiet(line) and line.joined == 0 then
    plant_tombstone()
    local state = one.phase == 'admitted' and ADMITTED or OFFERED
    remove_holder(line, one)
    save_quiet(line)
    return { state, one.fence }
end

-- include waiters.lua

-- Where it stands while its lease goes on.
local function state_of_one()
    if one.lease_end <= line.now then return GONE, 0 end
    if one.phase == 'admitted' then return ADMITTED, one.fence end
    return one.phase == 'offered' and OFFERED or WAITING, 0
end

if line.stored then open_waiters(line, { nonce }) end
plant_tombstone()
one = line.known[nonce]
if not one then return { GONE, 0 } end
local state, fence = state_of_one()
take_out(line, one)
save(line)
return { state, fence }
