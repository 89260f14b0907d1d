#!lua
-- Marks a node as one of a set that is new: it counts at once, for nobody can be in. A node that is
-- marked already stays as it is.
-- KEYS: the marker. ARGV: the run of the server. Answers 1, or 0 when it is marked already.

if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ' 0')
return 1
