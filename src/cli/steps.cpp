#include "cli/steps.hpp"

#include "cli/format.hpp"
#include "cli/output.hpp"

namespace holdfast::cli {

void Steps::tell(std::string_view sentence) const {
    if (!told_) return;
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
    say(formatted("[{:.3f} s] {}", since.count(), sentence));
}

}  // namespace holdfast::cli
