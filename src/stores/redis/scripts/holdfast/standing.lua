#!lua flags=allow-oom
-- Where a contender stands. Extends nothing; ends whose lease or claim is over.
-- KEYS[1]: {R}. ARGV: nonce. Answers state, fence, look.

-- include line.lua

local nonce = ARGV[1]

local function state_of(line, one)
    if one.lease_end <= now then
        if one.phase ~= GONE then take_out(line, one) end
        return GONE, 0, -1
    end
    -- Its claim stands as long as nobody else came for the place.
    if one.phase == OFFERED then return OFFERED, 0, -1 end
    advance(line)
    if one.phase == OFFERED then return OFFERED, 0, -1 end
    if one.phase == ADMITTED then return ADMITTED, one.fence, -1 end
    -- Nothing is reserved for one that was passed over, nor under barging: its renewal decides.
    local unreserved = one.phase == LAPSED or line.fairness == 'b'
    if unreserved and has_room(line, one.weight) then return OFFERED, 0, -1 end
    return waiting_state(line, one)
end

local line = open_with(KEYS[1], { nonce })
local one = line.known[nonce]
if not one then return { GONE, 0, -1 } end
local state, fence, look_again = state_of(line, one)
line.told[one] = nil -- it learns of its turn from this answer
save(line)
return { state, fence, look_again }
