#!lua
-- Carries out several requests that overlapped, each as its own script would.
-- KEYS: two or seven of each, see layout.lua. ARGV: how many requests it is; for each, 'enter' or
-- 'leave', and what that script takes of one.
-- Answers what they would, in an array; one that fails is an error in its place, and the others
-- are done all the same.
-- No allow-oom: without memory it is refused before it did anything, and each is to come alone.

-- include ../clock.lua
-- include layout.lua
-- include hand_over.lua

-- Made when the first is not quiet.
local long_way
local function verbs_of_all_lines()
    -- include line.lua
    -- include moving.lua
    -- include entering.lua
    -- include leaving.lua
    return { enter = enter, leave = leave }
end
local function go_long_way(verb, keys, args, line)
    long_way = long_way or verbs_of_all_lines()
    return long_way[verb](keys, args, line)
end

local keys_of_one = #KEYS / ARGV[1]

-- Each by where its keys and its words begin: the usual case takes none of them together.
local verbs = {
    enter = function(key, word)
        local line_key, fence_key = KEYS[key], KEYS[key + 1]
        local entrant, lifetime = ARGV[word + 1], ARGV[word + 2]
        -- include quiet_enter.lua
        return go_long_way('enter', { keys_at(key, keys_of_one) },
            { unpack(ARGV, word + 1, word + 3) })
    end,
    leave = function(key, word)
        local line_key, nonce = KEYS[key], ARGV[word + 1]
        local line = redis.call('GET', line_key)
        if ARGV[word + 2] == '0' then
            -- include quiet_leave.lua
        end
        local keys, args = keys_at(key, keys_of_one), { nonce, ARGV[word + 2] }
        return hand_over(keys, args, line) or go_long_way('leave', keys, args, line)
    end,
}
local words_of = { enter = 4, leave = 3 }

local replies, word = {}, 2
for i = 1, ARGV[1] do
    local verb = ARGV[word]
    local done, reply = pcall(verbs[verb], keys_of_one * (i - 1) + 1, word)
    -- Of a failed call, pcall gives the server's words.
    replies[i] = done and reply or { err = type(reply) == 'table' and reply.err or tostring(reply) }
    word = word + words_of[verb]
end
return replies
