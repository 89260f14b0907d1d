#include "cli/output.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

#include "cli/visible.hpp"

namespace holdfast::cli {

void say(std::string_view sentence) {
    // In one piece, so that the lines of several processes do not mix.
    const std::string line = "holdfast: " + visible(sentence) + "\n";
    static_cast<void>(std::fputs(line.c_str(), stderr));
}

void print(std::string_view text) {
    // So that writing says so.
    std::signal(SIGPIPE, SIG_IGN);
    const bool written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (written) return;
    const std::error_code why(errno, std::generic_category());
    // Who reads no more (| head) knows.
    if (why != std::errc::broken_pipe) say("cannot write to standard output: " + why.message());
    throw NotWritten{};
}

}  // namespace holdfast::cli
