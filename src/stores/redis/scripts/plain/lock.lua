-- The lock is a STRING that names its holder: ours by its nonce. Beside it we keep one STRING,
-- until a day after the last fence's own time and longer than the lease: that fence, and until when
-- there may be tombstones, in 16 digits each (microseconds); then the record of our latest holder,
-- which is true while it names the lock's value.

-- What is beside the lock, if anything: its two numbers and the record. One that is not ours has no
-- numbers.
local function taken_apart(beside)
    if not beside then return 0, 0, '' end
    return tonumber(string.sub(beside, 1, 16)), tonumber(string.sub(beside, 17, 32)),
        string.sub(beside, 33)
end

-- The fence in the record of that holder, the record, and all that is beside the lock.
local function fence_beside(holds, nonce)
    local beside = redis.call('GETEX', holds)
    local _, _, record = taken_apart(beside)
    local holder, fence = string.match(record, '^(%S+) (%d+) ')
    if holder == nonce then return tonumber(fence), record, beside end
    return nil, nil, beside
end
