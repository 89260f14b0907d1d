#!lua flags=allow-oom
-- include ../names.lua
-- include ../beside.lua
-- include ../beside_record.lua
-- include ../beside_taking.lua
-- include ../beside_renew.lua
-- include lock.lua
-- include free.lua
-- include holds.lua
-- include taking.lua

return renew(judge, admit)
