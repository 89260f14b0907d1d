#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/signals.hpp"
#include "verify/report.hpp"

namespace holdfast::cli {

/// What `holdfast verify` was asked for.
struct TrialOptions {
    std::string store;
    std::size_t clients = 5;
    std::chrono::milliseconds time{10'000};
    std::optional<std::uint64_t> seed = std::nullopt;  ///< unset: by chance
    std::optional<std::chrono::milliseconds> lease = std::nullopt;
    bool pauses = false;
    bool kills = false;
};

/// Lets processes contend on the store, and judges what they did. Throws Error when the store
/// cannot be used, or nothing was seen of it; EndedBySignal when nothing was judged.
verify::Report try_out(const TrialOptions& options, const Signals& signals);

}  // namespace holdfast::cli
