-- The moment of this script, in microseconds: 16 digits, and as a number.
local time = redis.call('TIME')
local clock = time[1] .. string.sub('00000' .. time[2], -6)
local microseconds = tonumber(clock)
