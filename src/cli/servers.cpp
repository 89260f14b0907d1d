#include "cli/servers.hpp"

#ifdef HOLDFAST_PROGRAM_FOR_SERVERS

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <holdfast/error.hpp>
#include <holdfast/version.hpp>

namespace holdfast::cli {
namespace {

/// Where the program for servers is, from the folder of this one: installed, and built.
constexpr std::array places{HOLDFAST_PROGRAM_FOR_SERVERS, "lib/holdfast/holdfast"};

bool is_scheme(std::string_view text, std::string_view scheme) {
    return std::ranges::equal(text, scheme, {}, [](unsigned char c) { return std::tolower(c); });
}

/// Whether the URL names an embedded store. By its scheme alone: what is wrong with it, its store's
/// program says.
bool is_embedded(std::string_view url) {
    const std::size_t colon = url.find(':');
    const std::string_view scheme = url.substr(0, colon);
    return colon == std::string_view::npos || is_scheme(scheme, "local") ||
           is_scheme(scheme, "memory");
}

/// Tells nothing of the URL, which may have a password anywhere.
[[noreturn]] void refuse(const std::filesystem::path& program, int error) {
    const std::error_code why(error, std::generic_category());
    throw Error(errc::bad_configuration,
                "this store is not local:, and the program for the stores of servers cannot be "
                "started (" +
                    program.string() + ": " + why.message() + "); install it, of holdfast " +
                    version());
}

}  // namespace

void become_program_for(const std::string& url, Words words) {
    if (is_embedded(url)) return;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    for (const char* const place : places) {
        execv((folder / place).c_str(), words.data());
        if (errno != ENOENT && errno != ENOTDIR) {
            refuse((folder / place).lexically_normal(), errno);
        }
    }
    refuse((folder / places.front()).lexically_normal(), ENOENT);
}

}  // namespace holdfast::cli

#else

namespace holdfast::cli {

void become_program_for(const std::string& /*url*/, Words /*words*/) {}

}  // namespace holdfast::cli

#endif
