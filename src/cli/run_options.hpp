#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/options.hpp>

namespace CLI {
class App;
}

namespace holdfast::cli {

struct TypedLine;

/// What becomes of the command when its hold is lost.
enum class OnLost : std::uint8_t {
    term,    ///< TERM, then KILL before the lease ends
    kill,    ///< KILL before the lease ends
    ignore,  ///< it goes on
};

/// What becomes of the processes that a command leaves behind when it ends by itself.
enum class Leftovers : std::uint8_t {
    leave,  ///< they go on, without the lock
    wait,   ///< the lock is kept until they have ended
    end,    ///< they are ended before the lock is given back
};

/// Which side of a read-write lock was asked for by name. On the stores of others a mutex is
/// another lock than either of the two.
enum class Side : std::uint8_t { unnamed, shared, exclusive };

/// What `holdfast run` was asked for.
struct RunOptions {
    std::vector<std::string> names;
    std::vector<std::string> command;
    /// Instead of a command: what the shell shall do.
    std::optional<std::string> for_shell;
    /// Unset: as long as it takes.
    std::optional<std::chrono::nanoseconds> patience;
    Side side = Side::unnamed;
    std::optional<std::uint32_t> slots;
    LockOptions lock;
    std::string store;
    OnLost on_lost = OnLost::term;
    /// Between TERM and KILL. Unset: see kill_after_or_default().
    std::optional<std::chrono::nanoseconds> kill_after;
    std::optional<std::chrono::nanoseconds> max_time;
    Leftovers leftovers = Leftovers::leave;
    int conflict_exit_code = 75;
    bool verbose = false;

    std::chrono::nanoseconds kill_after_or_default(std::chrono::nanoseconds lease) const {
        return kill_after.value_or(lease / 4);
    }
    /// The same where nobody renews any more, and there is no time to lose.
    std::chrono::nanoseconds kill_after_loss() const {
        if (on_lost != OnLost::term) return std::chrono::nanoseconds::zero();
        return kill_after.value_or(std::chrono::milliseconds{10});
    }
    /// "a, b"
    std::string all_names() const;
};

inline constexpr auto kill_after_too_long =
    "is more than half of the lease; then there would be too little time to renew it";

/// Adds the command to the program's. Parsing fills `options`, which must outlive the parser.
CLI::App& add_run_options(CLI::App& program, RunOptions& options);

/// Puts in the command that is to be run: what stands behind the `--`, or what -c has for the
/// shell. When there is none, says why; how the program shall end then.
std::optional<int> take_command(RunOptions& options, const TypedLine& line);

}  // namespace holdfast::cli
