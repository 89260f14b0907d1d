#!lua flags=allow-oom
-- Extends a lease, and raises the fence to one that others of the nodes gave. Never re-creates: who
-- is not there is gone.
-- KEYS: five. ARGV, behind what all begin with: nonce, lease, serial, fence.
-- Answers vote, fence, clock; of a node that is forgetful, which has extended it all the same, for
-- how many milliseconds.

-- include ../../redis/scripts/clock.lua
-- include node.lua

local nonce, lease, serial, fence = ARGV[4], ARGV[5] * 1000, tonumber(ARGV[6]), tonumber(ARGV[7])

local holders = read_holders()
local one = holders[nonce]
if not one then return { GONE, 0, microseconds } end
-- What is stored here already was not ahead then: the clock was set back.
if fence > last_fence() and is_ahead(fence, max_lease) then return { AHEAD, 0, microseconds } end
if serial >= one.serial then
    need('SET', fence_key)
    need_to_write_holder()
    one.serial, one.fence, one.lease_end = serial, fence, microseconds + lease
    if fence > last_fence() then keep_fence(fence) end
    write_holder(holders, one)
end
-- Whom this run let in it let in when it counted, and has forgotten nobody since: its clock was set
-- back. What a run keeps of those before it says nothing of whom they let in later.
local forgetful = forgetful_until()
if forgetful and one.run ~= run then return { FORGETFUL, 0, microseconds, left_until(forgetful) } end
return { ADMITTED, one.fence, microseconds }
