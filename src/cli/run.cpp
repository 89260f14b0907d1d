#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include <holdfast/holdfast.hpp>
#include <holdfast/share_life.hpp>

#include "cli/command.hpp"
#include "cli/connecting.hpp"
#include "cli/descendants.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/loss.hpp"
#include "cli/output.hpp"
#include "cli/pact.hpp"
#include "cli/process_table.hpp"
#include "cli/run_options.hpp"
#include "cli/signals.hpp"
#include "cli/steps.hpp"
#include "cli/subcommands.hpp"
#include "cli/supervision.hpp"
#include "cli/taking.hpp"
#include "cli/warden.hpp"

namespace holdfast::cli {
namespace {

/// $HOLDFAST_OWNER alone re-enters nothing, or siblings that run in parallel would not exclude each
/// other: it only names the owner for whoever asks to.
LockOptions with_inherited_owner(LockOptions lock) {
    const char* const inherited = std::getenv("HOLDFAST_OWNER");
    if (lock.reenter && lock.owner.empty() && inherited != nullptr) lock.owner = inherited;
    return lock;
}

/// The names in the order of the fences: sorted, each once.
std::vector<std::string> names_in_order(const RunOptions& options) {
    std::vector<std::string> names = options.names;
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// Empty where the store gives none: nothing that the command could take for one.
std::string fences_of(const Hold& hold, std::string_view between) {
    return hold.fence() == 0 ? "" : joined(hold.fences(), between);
}

std::vector<std::string> variables_for(const Client& client, const Hold& hold,
                                       const RunOptions& options) {
    const std::string& owner = options.lock.owner.empty() ? client.owner() : options.lock.owner;
    return {
        formatted("HOLDFAST_NAME={}", joined(names_in_order(options), "\n")),
        "HOLDFAST_FENCE=" + fences_of(hold, "\n"),
        "HOLDFAST_OWNER=" + owner,
        "HOLDFAST_STORE=" + client.store(),
    };
}

/// Known before they are: names and fences, an owner and a URL, none of them longer than its limit.
std::size_t room_for_variables(const RunOptions& options) {
    constexpr std::size_t plenty = 32'768;
    constexpr std::size_t for_a_fence = 32;
    return std::accumulate(
        options.names.begin(), options.names.end(),
        plenty + options.lock.owner.size() + options.store.size(),
        [](std::size_t room, const std::string& name) { return room + name.size() + for_a_fence; });
}

/// The command's run under a hold, and what is said of it.
class Run {
public:
    Run(Hold& hold, const RunOptions& options, const Steps& steps)
        : hold_(hold), options_(options), steps_(steps) {}

    /// How the program shall end; nothing when it is too late to start the command.
    std::optional<int> of_command(std::span<const std::string> variables, const Signals& signals,
                                  Pact& pact, Children& children) {
        const auto readiness = pact.readiness();
        if (readiness != Pact::Readiness::ready) return not_ready(readiness, pact.start_error());
        // What comes from here on is the command's: its process is there to get it.
        obey(signals);
        const BootTime end_by = must_end_by(hold_, pact.lease());
        if (end_by <= boot_time_now()) return std::nullopt;
        // Before there is a command, so that there is none without it.
        pact.set_end_by(end_by);
        Supervision supervision(hold_, options_, signals, pact, children, steps_);
        pact.start(variables);
        const int code = exit_code_of_status(supervision.until_end());
        pact.set_end_by(never);
        if (pact.too_late()) return std::nullopt;
        if (pact.start_error() != 0) return refused(pact.start_error());
        const int answer = give_back(supervision, code);
        obey_terminal(supervision, answer, signals);
        return answer;
    }

private:
    void obey(const Signals& signals) const {
        try {
            signals.obey();
        } catch (const EndedBySignal& ended) {
            cli::give_back(hold_, ended.signal);
            throw;
        }
    }

    /// By a key that was pressed since the command's end we die as anybody would. All else was
    /// meant for the command, and shall not make it look as if it had not come to its own end.
    static void obey_terminal(const Supervision& supervision, int answer, const Signals& signals) {
        // A shell that waits for us wants to see it: it ends a loop then.
        const int signal = supervision.terminal_signal();
        if (signal != 0 && answer == ended_by_signal + signal) throw EndedBySignal{signal};
        const int late = supervision.late_terminal_signal();
        if (late != 0) throw EndedBySignal{late};
        while (const auto arrived = signals.next()) {
            if (arrived->from_terminal) throw EndedBySignal{arrived->number};
        }
        signals.ignore();
    }

    int not_ready(Pact::Readiness readiness, int error) const {
        std::string why = readiness == Pact::Readiness::command_gone
                              ? "the process that was to become it was killed"
                              : "its warden was killed";
        if (error != 0) why = std::error_code(error, std::generic_category()).message();
        say(formatted("{}: did not start the command: {}", options_.all_names(), why));
        return internal_error;
    }

    int refused(int error) const {
        const std::error_code code(error, std::generic_category());
        say(formatted("{}: {}", options_.command.front(), code.message()));
        return code == std::errc::no_such_file_or_directory ? command_not_found : cannot_execute;
    }

    /// Its own code, or why it was ended. A command that came to its end after its lease did was
    /// not guarded.
    int give_back(Supervision& supervision, int code) {
        const bool in_time = hold_.held();
        const Verdict verdict = supervision.verdict();
        if (verdict != Verdict::none && (in_time || verdict != Verdict::took_too_long)) {
            supervision.tell_verdict();
            code = verdict == Verdict::took_too_long ? timed_out : hold_lost;
        }
        if (in_time && released()) return code;
        if (code != hold_lost || verdict == Verdict::none) {
            tell_loss(hold_, reason_of_loss(hold_),
                      "the command has ended, but another holder may have run beside it");
        }
        return hold_lost;
    }

    /// Whether nobody can have been let in before.
    bool released() {
        const Released how = hold_.release();
        if (how == Released::in_time) steps_.tell("released");
        if (how == Released::unknown) {
            steps_.tell("the store did not answer to the release; the lease ends it");
        }
        return how != Released::too_late;
    }

    Hold& hold_;
    const RunOptions& options_;
    const Steps& steps_;
};

/// The child that looks after the command.
class WardenProcess {
public:
    WardenProcess(const RunOptions& options, const Signals& signals, Pact& pact) : pact_(pact) {
        children_.warden = fork();
        if (children_.warden < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (children_.warden == 0) become_warden(options, signals);
        pact_.become_wrapper();
    }
    /// Waits for its end, which is that of the command.
    ~WardenProcess() {
        pact_.dissolve();
        while (waitpid(children_.warden, nullptr, WNOHANG) == 0) wait_a_moment();
    }
    WardenProcess(const WardenProcess&) = delete;
    WardenProcess& operator=(const WardenProcess&) = delete;

    Children& children() noexcept { return children_; }

private:
    [[noreturn]] void become_warden(const RunOptions& options, const Signals& signals) {
        pact_.become_warden();
        try {
            adopt_orphans();
            Warden(options, signals, pact_).watch();
        } catch (const std::system_error& error) {
            // The wrapper says so.
            pact_.set_start_error(error.code().value());
        }
        std::_Exit(success);
    }

    /// Waits for the warden for a moment: for the most part that is until it has ended.
    void wait_a_moment() const {
        const pid_t warden = children_.warden;
        const Descriptor process = Descriptor::or_none(open_process(warden));
        pollfd source{process.get(), POLLIN, 0};
        constexpr int milliseconds = 100;
        if (poll(&source, 1, milliseconds) == 0 && is_stopped(warden)) kill(warden, SIGKILL);
    }

    Pact& pact_;
    Children children_;
};

std::chrono::milliseconds usual_lease(const Client& client, const RunOptions& options) {
    return options.side == Side::shared ? client.usual_shared_lease() : client.usual_lease();
}

int acquire_and_run(const RunOptions& options, const Signals& signals, Pact& pact,
                    Children& children) {
    const Steps steps(options.verbose);
    const Client client = connect_unless_ended(options.store, signals);
    if (const Descriptor life(Descriptor::or_none(holdfast::share_life(client, children.warden)));
        life.get() >= 0) {
        pact.leave_with_warden(life.get());
    }
    steps.tell("connected to " + client.store());
    pact.set_lease(options.lock.lease.value_or(usual_lease(client, options)));
    if (options.kill_after > pact.lease() / 2) {
        throw Error(errc::invalid_argument, std::string("--kill-after ") + kill_after_too_long);
    }
    const Circumstances here{client, options, steps, signals, std::chrono::steady_clock::now()};
    while (Attempt hold = take(here)) {
        const std::string fences = fences_of(*hold, ", ");
        steps.tell(formatted("{}: acquired {}", options.all_names(),
                             fences.empty() ? "without a fence" : "with fence " + fences));
        if (const auto code =
                Run(*hold, options, steps)
                    .of_command(variables_for(client, *hold, options), signals, pact, children)) {
            return *code;
        }
        // Nothing has run yet: that is no loss to anybody.
        steps.tell(options.all_names() + ": lost before the command was started");
        // The process that was to become it has ended, and there is no other.
        if (pact.too_late()) break;
        if (options.patience == std::chrono::nanoseconds::zero()) break;
    }
    steps.tell(options.all_names() + ": not acquired");
    return options.conflict_exit_code;
}

int run(RunOptions options) {
    options.lock = with_inherited_owner(std::move(options.lock));
    adopt_orphans();
    const Signals signals;
    try {
        Pact pact(room_for_variables(options));
        WardenProcess warden(options, signals, pact);
        return acquire_and_run(options, signals, pact, warden.children());
    } catch (const EndedBySignal& ended) {
        die_by(ended.signal);
    }
}

}  // namespace

Subcommand add_run(CLI::App& program, const TypedLine& line) {
    const auto options = std::make_shared<RunOptions>();
    CLI::App& parser = add_run_options(program, *options);
    return {&parser, options->store, [options, &line] {
                const auto refused = take_command(*options, line);
                return refused ? *refused : run(std::move(*options));
            }};
}

}  // namespace holdfast::cli
