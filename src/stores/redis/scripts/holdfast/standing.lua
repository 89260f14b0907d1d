#!lua flags=allow-oom
-- Where a contender stands. Extends nothing; ends whose lease or claim is over. Who asks is there,
-- so one that was passed over counts again.
-- KEYS: two or seven, see layout.lua. ARGV: nonce. Answers state, fence, look.

-- include ../clock.lua
-- include layout.lua
-- include line.lua
-- include moving.lua

local line = open(keys_at(1, #KEYS), { ARGV[1] })
local one = line.known[ARGV[1]]
if not one then return { GONE, 0, -1 } end
local state, fence, look_again = answer_to(line, one, function()
    if one.phase == 'lapsed' then hear(line, one) end
    return stand(line, one)
end)
save(line)
return { state, fence, look_again }
