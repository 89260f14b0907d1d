-- The lock is a STRING that names its holder: ours by its nonce. The record of our holder is a
-- STRING too, and is true while it names the lock's value.

local function fence_beside(holds, nonce)
    local record = redis.call('GETEX', holds)
    if not record then return nil end
    local holder, fence = string.match(record, '^(%S+) (%d+) ')
    return holder == nonce and tonumber(fence) or nil
end
