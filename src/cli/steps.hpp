#pragma once

#include <chrono>
#include <string_view>

namespace holdfast::cli {

/// Tells each step with its time since the start, or nothing unless asked to.
class Steps {
public:
    explicit Steps(bool told) : told_(told) {}

    bool told() const noexcept { return told_; }
    void tell(std::string_view sentence) const;

private:
    bool told_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace holdfast::cli
