#include "cli/terminal_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

constexpr const char* to_empty_line = "\r\x1b[K";

std::size_t terminal_width() {
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

/// The beginning of a text that stays on one line of the terminal.
std::string cut_to_width(const std::string& text) {
    const std::size_t width = terminal_width() - 1;
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!continues_character(text[i]) && ++characters > width) return text.substr(0, i);
    }
    return text;
}

void write_to_terminal(const std::string& text) {
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

}  // namespace

bool in_foreground() {
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

TerminalLine::TerminalLine() : on_terminal_(isatty(STDERR_FILENO) == 1) {}

TerminalLine::~TerminalLine() {
    if (shown_ && in_foreground()) write_to_terminal(to_empty_line);
}

void TerminalLine::show(const std::string& text) {
    if (!on_terminal_ || !in_foreground()) return;
    write_to_terminal(to_empty_line + cut_to_width(text));
    shown_ = true;
}

}  // namespace holdfast::cli
