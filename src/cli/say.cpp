#include "cli/say.hpp"

#include <cstdio>
#include <string>

#include "cli/visible.hpp"

namespace holdfast::cli {

void say(std::string_view sentence) {
    // In one piece, so that the lines of several processes do not mix.
    const std::string line = "holdfast: " + visible(sentence) + "\n";
    static_cast<void>(std::fputs(line.c_str(), stderr));
}

}  // namespace holdfast::cli
