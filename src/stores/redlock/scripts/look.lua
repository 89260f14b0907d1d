#!lua flags=no-writes
-- Who is in here.
-- KEYS: five. ARGV: what all begin with.
-- Answers of each: nonce, weight, fence, for how many milliseconds its lease goes on and for how many
-- it has been in, and who it is.

-- include ../../redis/scripts/clock.lua
-- include node.lua

local found = {}
for _, one in pairs(read_holders()) do
    found[#found + 1] = {
        one.nonce, one.weight, string.format('%.0f', one.fence), left_until(one.lease_end),
        past_since(one.since), one.who,
    }
end
return found
