-- A block, for it costs less than a function. Takes the holder of a lone line out, and answers its
-- fence, which says it all: such a one was admitted, and its lease is not over, or the key would
-- be. Else it has changed nothing.
if line and string.sub(line, 50, 81) == nonce and string.sub(line, 1, 1) == 'q' then
    redis.call('DEL', line_key)
    return tonumber(string.sub(line, 2, 17))
end
