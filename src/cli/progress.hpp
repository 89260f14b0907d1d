#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <holdfast/client.hpp>

#include "cli/run_options.hpp"
#include "cli/terminal_line.hpp"

namespace holdfast::cli {

/// The line that tells whoever sits at the terminal what is waited for: who holds it, for how
/// long, and how many are ahead. Nothing where standard error is no terminal, or is another job's.
class Progress {
public:
    Progress(const Client& client, const RunOptions& options);

    /// Shows what is due by now.
    void show();
    /// For poll(): -1 when there is nothing to show, ever.
    int milliseconds_to_next() const;

private:
    using Clock = std::chrono::steady_clock;

    struct Seen {
        std::string name;
        std::string holder;
        std::optional<std::chrono::nanoseconds> held_for;
        std::size_t ahead = 0;
    };

    void look();
    std::optional<ResourceInfo> look_at(const std::string& name) const;
    bool take_in(const ResourceInfo& resource);
    std::string sentence() const;

    const Client& client_;
    const RunOptions& options_;
    std::string owner_;
    TerminalLine line_;
    bool shown_ = false;
    Clock::time_point next_;
    Clock::time_point looked_at_{};
    Seen seen_;
};

}  // namespace holdfast::cli
