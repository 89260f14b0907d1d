#!lua flags=allow-oom
-- Where a contender stands. Extends nothing; ends whose lease or claim is over.
-- KEYS[1]: {R}. ARGV: nonce. Answers state, fence, look.

-- include layout.lua
-- include line.lua
-- include moving.lua

local line = open(KEYS[1], { ARGV[1] })
local one = line.known[ARGV[1]]
if not one then return { GONE, 0, -1 } end

-- Nothing is reserved for one that was passed over, nor under barging: its renewal decides.
local function state_of_waiter()
    local unreserved = one.phase == 'lapsed' or line.fairness == 'b'
    if unreserved and has_room(line, one.weight) then return OFFERED, 0, -1 end
    return still_waiting(line, one)
end

local function state_of_one()
    if one.lease_end <= now then
        take_out(line, one)
        return GONE, 0, -1
    end
    -- A claim stands as long as nobody else came for the place.
    if one.phase ~= 'offered' then advance(line) end
    if one.phase == 'offered' then return OFFERED, 0, -1 end
    if one.phase == 'admitted' then return ADMITTED, one.fence, -1 end
    return state_of_waiter()
end

local state, fence, look_again = state_of_one()
one.told = nil -- it learns of its own turn from this answer
save(line)
return { state, fence, look_again }
