#include "cli/ink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast::cli {
namespace {

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

/// Of the sixteen colours that every terminal has, so that they suit its background.
std::string_view code_of(Ink ink) {
    switch (ink) {
        case Ink::heading:
            return "1";
        case Ink::held:
            return "32";
        case Ink::waiting:
            return "33";
        case Ink::plain:
            break;
    }
    return {};
}

}  // namespace

Colour colour_of_output() {
    const std::string_view terminal = variable("TERM");
    const bool wanted = !terminal.empty() && terminal != "dumb" && variable("NO_COLOR").empty();
    return wanted && isatty(STDOUT_FILENO) == 1 ? Colour::on : Colour::off;
}

std::string painted(std::string_view text, Ink ink, Colour colour) {
    const std::string_view code = code_of(ink);
    if (colour == Colour::off || code.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace holdfast::cli
