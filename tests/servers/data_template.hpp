#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace holdfast::test {

/// A server's data folder as it is when it was never used: made once for all tests of a build
/// folder, by the first that asks for it, and copied by every server. Making it takes seconds.
std::filesystem::path data_template(const std::string& name,
                                    const std::function<void(const std::filesystem::path&)>& make);

/// Runs it to its end. Throws with what it said when it fails.
void run_to_end(const std::string& command);

}  // namespace holdfast::test
