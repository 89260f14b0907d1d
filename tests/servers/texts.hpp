#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

/// What servers write and answer.
namespace holdfast::test {

inline std::string contents_of(const std::filesystem::path& path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
}

/// A log can be long, above all when something fails again and again.
inline std::string end_of(const std::string& text) {
    constexpr std::size_t enough = 4000;
    return text.size() <= enough ? text : "..." + text.substr(text.size() - enough);
}

/// That of the line "name<between>value"; nothing when there is none.
inline std::optional<std::string> value_in(const std::string& text, const std::string& name,
                                           const std::string& between) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name + between)) return line.substr(name.size() + between.size());
    }
    return std::nullopt;
}

}  // namespace holdfast::test
