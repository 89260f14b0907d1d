#!lua flags=allow-oom
-- include ../beside.lua
-- include lock.lua
-- include taking.lua

return renew(judge, admit)
