#!lua
-- include ../common.lua
return text
