#!lua flags=allow-oom
-- include ../clock.lua
-- include ../names.lua
-- include ../beside.lua
-- include ../beside_record.lua
-- include ../beside_renew.lua
-- include lock.lua
-- include taking.lua

return renew(judge, admit)
