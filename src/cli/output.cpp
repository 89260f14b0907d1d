#include "cli/output.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "cli/signals.hpp"

namespace holdfast::cli {

void print(std::string_view text) {
    const bool written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (written) return;
    if (errno == EPIPE) die_by(SIGPIPE);
    throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
}

}  // namespace holdfast::cli
