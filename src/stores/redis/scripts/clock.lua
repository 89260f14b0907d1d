-- The moment of this script: in 16 digits, in microseconds, and in milliseconds.
local time = redis.call('TIME')
local clock = string.format('%010d%06d', time[1], time[2])
local microseconds = tonumber(clock)
local now = math.floor(microseconds / 1000)
