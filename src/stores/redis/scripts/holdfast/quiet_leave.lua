-- A block, for it costs less than a function. Takes the holder of a lone line out: such a one is
-- admitted, and its lease is not over, or the key would be. Else it has changed nothing.
if line and string.find(line, nonce, 50, true) == 50 and string.byte(line) == 113 then
    redis.call('DEL', line_key)
    return 3
end
