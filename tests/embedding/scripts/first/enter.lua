#!lua flags=allow-oom
-- include part.lua
-- include ../common.lua
return part(text) -- include nothing.lua
