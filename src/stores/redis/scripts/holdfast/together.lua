#!lua
-- Carries out several requests that overlapped, each as its own script would.
-- KEYS: six of each. ARGV, for each: 'enter' or 'leave', and what that script takes of one.
-- Answers what they would, in an array; one that fails is an error in its place, and the others
-- are done all the same.
-- No allow-oom: without memory it is refused before it did anything, and each is to come alone.

-- include ../clock.lua
-- include layout.lua
-- include hand_over.lua

local function enter_quietly(line_key, fence_key, entrant, lifetime)
    -- include quiet_enter.lua
end
local function leave_quietly(line_key, line, nonce)
    -- include quiet_leave.lua
end

-- Made when the first is not quiet.
local long_way
local function verbs_of_all_lines()
    -- include line.lua
    -- include moving.lua
    -- include entering.lua
    -- include leaving.lua
    return { enter = enter, leave = leave }
end
local function go_long_way(verb, keys, args)
    long_way = long_way or verbs_of_all_lines()
    return long_way[verb](keys, args)
end

local verbs = {
    enter = {
        takes = 3,
        run = function(keys, args)
            return enter_quietly(keys[1], keys[2], args[1], args[2]) or
                go_long_way('enter', keys, args)
        end,
    },
    leave = {
        takes = 2,
        run = function(keys, args)
            local stored = redis.call('GET', keys[1])
            return args[2] == '0' and leave_quietly(keys[1], stored, args[1]) or
                hand_over(keys, args, stored) or go_long_way('leave', keys, args)
        end,
    },
}

local replies, at = {}, 1
for i = 1, #KEYS / 6 do
    local verb = verbs[ARGV[at]]
    local last = at + verb.takes
    local done, reply = pcall(verb.run, { unpack(KEYS, 6 * i - 5, 6 * i) },
        { unpack(ARGV, at + 1, last) })
    -- Of a failed call, pcall gives the server's words.
    replies[i] = done and reply or { err = type(reply) == 'table' and reply.err or tostring(reply) }
    at = last + 1
end
return replies
