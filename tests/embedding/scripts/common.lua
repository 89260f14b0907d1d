-- for both
local text = "a; b\n" .. [[c]] -- ${HOME} @HOME@ $<1:x>
