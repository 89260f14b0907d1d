// Made by CMake of the scripts in tests/embedding/scripts: change them there.
#pragma once

#include <string_view>

namespace holdfast::test::scripts {

inline constexpr std::string_view first_enter = R"lua(#!lua flags=allow-oom
local function part(text)
    return { text; #text }
end
-- for both
local text = "a; b\n" .. [[c]] -- ${HOME} @HOME@ $<1:x>
return part(text) -- include nothing.lua
)lua";

inline constexpr std::string_view second_enter = R"lua(#!lua
-- for both
local text = "a; b\n" .. [[c]] -- ${HOME} @HOME@ $<1:x>
return text
)lua";

}  // namespace holdfast::test::scripts
