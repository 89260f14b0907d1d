#!lua flags=allow-oom
-- include ../beside.lua
-- include lock.lua

return renew(judge, admit)
