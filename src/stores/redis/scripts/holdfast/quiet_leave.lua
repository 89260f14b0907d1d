-- How the holder of a lone line leaves; nothing is answered when it is another line. Its fence says
-- it all: such a one was admitted, and its lease is not over, or the key would be.
local function leave_quietly(line_key, line, nonce)
    if not line or string.sub(line, 1, 1) ~= 'q' or string.sub(line, 50, 81) ~= nonce then return end
    redis.call('DEL', line_key)
    return tonumber(string.sub(line, 2, 17))
end
