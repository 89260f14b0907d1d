#!lua
-- Carries out several requests that overlapped, each as its own script would.
-- KEYS: {R} of each. ARGV, for each: 'enter' or 'leave', and what that script takes of one.
-- Answers what they would, in an array; one that fails is an error in its place, and the others
-- are done all the same.
-- No allow-oom: without memory it is refused before it did anything, and each is to come alone.

-- include layout.lua
-- include entering.lua
-- include leaving.lua

local verbs = { enter = { run = enter, takes = 8 }, leave = { run = leave, takes = 2 } }

local replies, at = {}, 1
for i, key in ipairs(KEYS) do
    local verb = verbs[ARGV[at]]
    local last = at + verb.takes
    local done, reply = pcall(verb.run, { key }, { unpack(ARGV, at + 1, last) })
    -- Of a failed call, pcall gives the server's words.
    replies[i] = done and reply or { err = tostring(reply) }
    at = last + 1
end
return replies
