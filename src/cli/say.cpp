#include "cli/say.hpp"

#include <cstdio>
#include <string>

namespace holdfast::cli {

void say(std::string_view sentence) {
    // In one piece, so that the lines of several processes do not mix.
    const std::string line = "holdfast: " + std::string(sentence) + "\n";
    static_cast<void>(std::fputs(line.c_str(), stderr));
}

}  // namespace holdfast::cli
