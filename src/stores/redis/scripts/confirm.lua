#!lua flags=allow-oom
-- Writes a key of no meaning, which ends soon. Also without memory: whoever holds goes on then.
-- KEYS: one.
redis.call('set', KEYS[1], '', 'EX', 60)
