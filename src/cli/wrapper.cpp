#include "cli/wrapper.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include <holdfast/holdfast.hpp>

#include "cli/command.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/say.hpp"
#include "cli/steps.hpp"
#include "cli/store.hpp"
#include "cli/supervision.hpp"
#include "cli/taking.hpp"

namespace holdfast::cli {
namespace {

/// In the order of the fences: sorted, each once.
std::vector<std::string> names_in_order(const RunOptions& options) {
    std::vector<std::string> names = options.names;
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::vector<Variable> variables_for(const Client& client, const Hold& hold,
                                    const RunOptions& options) {
    const std::string& owner = options.lock.owner.empty() ? client.owner() : options.lock.owner;
    return {
        {"HOLDFAST_NAME", fmt::format("{}", fmt::join(names_in_order(options), "\n"))},
        {"HOLDFAST_FENCE", fmt::format("{}", fmt::join(hold.fences(), "\n"))},
        {"HOLDFAST_OWNER", owner},
        {"HOLDFAST_STORE", client.store()},
    };
}

const char* reason(Loss loss) {
    switch (loss) {
        case Loss::overdue:
            return "the store was not heard of in time";
        case Loss::ended:
            return "the store says that it ended";
        case Loss::inherited:
            return "it belongs to another process";
        case Loss::none:
            break;
    }
    return "the lease ran out";
}

/// A hold, the command under it, and what is said of them.
class Run {
public:
    Run(Hold& hold, const RunOptions& options, const Steps& steps)
        : hold_(hold), options_(options), steps_(steps) {}

    int under_hold(Start start, const Signals& signals, Pact& pact) {
        // Before there is a command, so that there is none without it.
        if (options_.on_lost != OnLost::ignore) {
            pact.set_end_by(must_end_by(hold_, options_.lock.lease));
        }
        const Command command(std::move(start));
        steps_.tell(
            fmt::format("started {} as process {}", options_.command.front(), command.process()));
        Supervision supervision(command, hold_, options_, signals, pact);
        const int code = supervision.until_end();
        steps_.tell(fmt::format("the command ended with code {}", code));
        return give_back(supervision.verdict(), code);
    }

private:
    /// Its own code, or why it was ended. A command that came to its end after its lease did was
    /// not guarded.
    int give_back(Verdict verdict, int code) {
        if (verdict == Verdict::took_too_long) {
            say(fmt::format("{}: the command took longer than {}; ended it", options_.all_names(),
                            show_duration(*options_.max_time)));
            code = timed_out;
        } else if (verdict != Verdict::none) {
            tell_loss(verdict);
            code = hold_lost;
        }
        const bool in_time = hold_.held();
        if (in_time && hold_.release() != Released::too_late) {
            steps_.tell("released");
        } else if (code != hold_lost) {
            tell_loss(cli::reason(hold_.loss()),
                      "the command has ended, but another holder may have run beside it");
            code = hold_lost;
        }
        return code;
    }

    const char* reason(Verdict verdict) const {
        switch (verdict) {
            case Verdict::overdue:
                return "it could not be renewed in time";
            case Verdict::warden_gone:
                return "holdfast was killed";
            case Verdict::warden_stopped:
                return "holdfast stood still";
            default:
                return cli::reason(hold_.loss());
        }
    }

    void tell_loss(Verdict verdict) const {
        const bool ignored = verdict == Verdict::ignored_loss;
        tell_loss(reason(verdict),
                  ignored ? "the command went on (--on-lost ignore)" : "ended the command");
    }

    void tell_loss(const char* why, const char* consequence) const {
        say(fmt::format("{}: hold with fence {} lost ({}); {}", hold_.name(), hold_.fence(), why,
                        consequence));
    }

    Hold& hold_;
    const RunOptions& options_;
    const Steps& steps_;
};

int refuse_command(const RunOptions& options, const std::system_error& error) {
    say(fmt::format("{}: {}", options.command.front(), error.code().message()));
    return error.code() == std::errc::no_such_file_or_directory ? command_not_found
                                                                : cannot_execute;
}

Client connect_for(const RunOptions& options, const Pact& pact) {
    // The pid that the user knows is the warden's.
    Client client = connect_to(options.store, {.pid = getppid()});
    if (const int life = client.share_life(); life >= 0) {
        pact.leave_with_warden(life);
        close(life);
    }
    return client;
}

int acquire_and_run(const RunOptions& options, const Signals& signals, Pact& pact, pid_t group) {
    const Steps steps(options.verbose);
    const Client client = connect_for(options, pact);
    steps.tell("connected to " + client.store());
    Attempt hold = take({client, options, steps, pact, group});
    if (!hold) {
        steps.tell(options.all_names() + ": not acquired");
        return options.conflict_exit_code;
    }
    steps.tell(fmt::format("{}: acquired with fence {}", options.all_names(),
                           fmt::join(hold->fences(), ", ")));
    Start start{.words = options.command,
                .variables = variables_for(client, *hold, options),
                .mask = signals.original_mask(),
                .group = group};
    try {
        return Run(*hold, options, steps).under_hold(std::move(start), signals, pact);
    } catch (const std::system_error& error) {
        if (dynamic_cast<const Error*>(&error) != nullptr) throw;
        return refuse_command(options, error);
    }
}

}  // namespace

int wrap(const RunOptions& options, const Signals& signals, Pact& pact, pid_t group) {
    try {
        return acquire_and_run(options, signals, pact, group);
    } catch (const StoppedWaiting& stopped) {
        pact.set_obeyed(stopped.signal);
        return not_acquired;
    }
}

}  // namespace holdfast::cli
