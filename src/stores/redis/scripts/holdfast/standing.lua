#!lua flags=allow-oom
-- Where a contender stands. Extends nothing; ends whose lease or claim is over.
-- KEYS[1]: {R}. ARGV: nonce. Answers state, fence, look.

-- include line.lua

local nonce = ARGV[1]
local line = open(KEYS[1], { nonce })
local one = line.known[nonce]
if one and one.lease_end > line.now then
    -- A claim stands as long as nobody else came for the place.
    if one.phase == 'offered' then return { OFFERED, 0, -1 } end
    if is_quiet(line) then return { ADMITTED, one.fence, -1 } end
elseif not line.stored then
    return { GONE, 0, -1 }
end

-- include waiters.lua

local function state_of_waiter()
    -- Nothing is reserved for one that was passed over, nor under barging: its renewal decides.
    local unreserved = one.phase == 'lapsed' or line.fairness == 'b'
    if unreserved and has_room(line, one.weight) then return OFFERED, 0, -1 end
    return still_waiting(line, one)
end

local function state_of()
    if one.lease_end <= line.now then
        take_out(line, one)
        return GONE, 0, -1
    end
    advance(line)
    if one.phase == 'offered' then return OFFERED, 0, -1 end
    if one.phase == 'admitted' then return ADMITTED, one.fence, -1 end
    return state_of_waiter()
end

open_waiters(line, { nonce })
one = line.known[nonce]
if not one then return { GONE, 0, -1 } end
local state, fence, look_again = state_of()
one.told = nil -- it learns of its own turn from this answer
save(line)
return { state, fence, look_again }
