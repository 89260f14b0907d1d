-- The lock is a STRING that names its holder: ours by its nonce. The record of our holder is a
-- STRING too, and is true while it names the lock's value.

-- The fence in the record of that holder, and the record.
local function fence_beside(holds, nonce)
    local record = redis.call('GETEX', holds)
    if not record then return nil end
    local holder, fence = string.match(record, '^(%S+) (%d+) ')
    if holder == nonce then return tonumber(fence), record end
end
