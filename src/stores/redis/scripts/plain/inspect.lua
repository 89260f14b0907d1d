#!lua flags=no-writes
-- include ../names.lua
-- include ../beside.lua
-- include ../beside_record.lua
-- include lock.lua

-- The value is told by its digest alone: it lets others give the lock back, and may be large.
local name = KEYS[1]
local value = redis.call('GET', name)
if not value then return {} end
local left, digest = redis.call('PTTL', name), redis.sha1hex(value)
local _, holds = tag_and_holds(name)
local _, _, text = taken_apart(redis.call('GET', holds))
local record = parsed(text)
if not record or record.hold ~= value then
    return {{'', '', 0, left, '', 0, -1, 'x', digest}}
end
return {{value, record.owner, record.fence, left, record.host, record.pid, record.age, 'x', digest}}
