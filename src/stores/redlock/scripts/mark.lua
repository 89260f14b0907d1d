#!lua
-- Marks a node as one of a set that is new: it counts at once, for nobody can be in.
-- KEYS: the marker. ARGV: the run of the server. Answers 1.

redis.call('SET', KEYS[1], ARGV[1] .. ' 0')
return 1
