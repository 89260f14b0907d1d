-- The moment of this script, in microseconds: 16 digits, and as a number.
local time = redis.call('TIME')
local part = time[2]
if #part < 6 then part = string.sub('00000' .. part, -6) end
local clock = time[1] .. part
local microseconds = tonumber(clock)
