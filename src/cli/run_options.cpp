#include "cli/run_options.hpp"

#include <cstdlib>

#include <CLI/CLI.hpp>

#include "cli/arguments.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"
#include "cli/typed_line.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* run_examples = R"(Examples:
  holdfast run backup -- tar -cf backup.tar data       one at a time on this machine
  holdfast run -n nightly -- ./nightly                 give up at once if it runs already
  holdfast run -w 30s deploy -- make deploy            wait for at most 30 seconds
  holdfast run -j 3 downloads -- curl -O URL           at most three at once
  holdfast run -s catalogue -- ./read                  with other readers, without a writer
  holdfast run accounts/7 accounts/9 -- ./transfer     all of them or none
  holdfast run nightly -c './import && ./report'       by the shell
  holdfast run -- -odd -- ./job                        a name that starts with a dash

The command finds HOLDFAST_NAME, HOLDFAST_FENCE, HOLDFAST_OWNER and HOLDFAST_STORE in its
environment; with several names, one name and one fence a line, in the order of the names. Give
the fence to what the lock guards, so that it can refuse a late writer. On memcached there is none,
and HOLDFAST_FENCE is empty.

When the hold is lost, or holdfast itself is killed or stands still, the command is ended with all
that it has started before the next one gets in. So is what it leaves behind when it ends by a TERM,
INT or HUP that holdfast has passed on; when it ends by itself, --leftovers decides. Out of reach
are those that changed their user (sudo), and what the command has started when all of holdfast is
stopped or killed at one moment: use the fence.

Exit code: the command's own, or 128 and its signal; 75 not acquired (or -E), 76 the hold was lost
while the command ran, 69 the store cannot be reached, 64 usage, 78 bad configuration, 124 --max-time, 126 and 127
as a shell, 70 an error of holdfast itself.)";

OnLost on_lost_of(const std::string& text) {
    if (text == "kill") return OnLost::kill;
    return text == "ignore" ? OnLost::ignore : OnLost::term;
}

Leftovers leftovers_of(const std::string& text) {
    if (text == "wait") return Leftovers::wait;
    return text == "end" ? Leftovers::end : Leftovers::leave;
}

std::chrono::nanoseconds duration_or_refuse(const char* option, const std::string& text) {
    if (const auto duration = parse_duration(text)) return *duration;
    const bool negative = text.starts_with('-') && parse_duration(text.substr(1));
    throw CLI::ValidationError(option, "'" + text + "' is " +
                                           (negative ? "negative" : "no duration") +
                                           "; write 500ms, 30s, 5m or 1h");
}

void add_waiting(CLI::App& command, RunOptions& options) {
    auto* const nonblock = command.add_flag_callback(
        "-n,--nb,--nonblock", [&] { options.patience = std::chrono::nanoseconds::zero(); },
        "Do not wait: fail if it is held");
    command
        .add_option_function<std::string>(
            "-w,--wait,--timeout",
            [&](const std::string& text) { options.patience = duration_or_refuse("--wait", text); },
            "Wait for at most this long (500ms, 30s, 5m, 1h; a bare number is seconds)")
        ->option_text("DURATION")
        ->excludes(nonblock);
    command
        .add_option("-E,--conflict-exit-code", options.conflict_exit_code,
                    "Exit with this code instead of 75 when it was not acquired")
        ->option_text("N")
        ->check(CLI::Range(0, 255));
}

void add_share(CLI::App& command, RunOptions& options) {
    auto* const shared = command.add_flag_callback(
        "-s,--shared", [&] { options.side = Side::shared; }, "Share it with other -s");
    auto* const exclusive = command.add_flag_callback(
        "-x,-e,--exclusive", [&] { options.side = Side::exclusive; },
        "Share it with nobody: the default. By name it is the writer of a read-write lock, which "
        "Curator and Redisson tell from a mutex");
    auto* const slots = command
                            .add_option("-j,--slots", options.slots,
                                        "Let up to N in at once; all users must name the same N")
                            ->option_text("N")
                            ->check(CLI::Range(1U, 1'000'000'000U));
    shared->excludes(exclusive)->excludes(slots);
    exclusive->excludes(slots);
}

void add_lock(CLI::App& command, RunOptions& options) {
    command
        .add_option_function<std::string>(
            "--lease",
            [&](const std::string& text) {
                options.lock.lease = std::chrono::ceil<std::chrono::milliseconds>(
                    duration_or_refuse("--lease", text));
            },
            "How long the store waits for a holder that it does not hear of (30s)")
        ->option_text("DURATION");
    command
        .add_option_function<std::string>(
            "--fairness",
            [&](const std::string& text) {
                options.lock.fairness = text == "fifo" ? Fairness::fifo : Fairness::barging;
            },
            "Who comes first: fifo or barging")
        ->option_text("fifo|barging")
        ->check(CLI::IsMember({"fifo", "barging"}));
    command.add_option("--owner", options.lock.owner, "Who asks, in listings (host:pid:random)")
        ->option_text("ID");
    command.add_flag("--fenced", options.lock.fenced,
                     "Refuse a store that gives no fence (memcached)");
    command.add_flag("--reenter", options.lock.reenter,
                     "Join a hold of the same owner; the owner is --owner or $HOLDFAST_OWNER");
}

void add_ending(CLI::App& command, RunOptions& options) {
    command
        .add_option_function<std::string>(
            "--on-lost", [&](const std::string& text) { options.on_lost = on_lost_of(text); },
            "When the hold is being lost: end the command (term: TERM, then KILL; kill: KILL), or "
            "ignore it")
        ->option_text("term|kill|ignore")
        ->check(CLI::IsMember({"term", "kill", "ignore"}));
    command
        .add_option_function<std::string>(
            "-k,--kill-after",
            [&](const std::string& text) {
                options.kill_after = duration_or_refuse("--kill-after", text);
            },
            "Between TERM and KILL (a quarter of the lease)")
        ->option_text("DURATION");
    command
        .add_option_function<std::string>(
            "--max-time",
            [&](const std::string& text) {
                options.max_time = duration_or_refuse("--max-time", text);
            },
            "End the command after this long")
        ->option_text("DURATION");
    command
        .add_option_function<std::string>(
            "--leftovers", [&](const std::string& text) { options.leftovers = leftovers_of(text); },
            "What a command leaves behind that ends by itself: leave it, wait for it with the "
            "lock, or end it")
        ->option_text("leave|wait|end")
        ->check(CLI::IsMember({"leave", "wait", "end"}));
}

void add_for_shell(CLI::App& command, RunOptions& options) {
    command
        .add_option("-c,--command", options.for_shell,
                    "Let $SHELL do this, instead of a COMMAND behind --")
        ->option_text("STRING");
    command.add_flag_callback(
        "-o,--close", [] {}, "Nothing, for flock's sake: no descriptor is ever passed on");
}

void check_together(const RunOptions& options) {
    if (options.names.size() > 1 && (options.side != Side::unnamed || options.slots)) {
        throw CLI::ValidationError(
            "several names are taken as mutexes, all of them or none; leave out -s, -x and -j");
    }
    if (options.lock.lease && options.kill_after > *options.lock.lease / 2) {
        throw CLI::ValidationError("--kill-after", kill_after_too_long);
    }
    if (options.max_time == std::chrono::nanoseconds::zero()) {
        throw CLI::ValidationError("--max-time", "is 0; leave it out for no limit");
    }
}

/// As flock(1) has it: $SHELL, or the standard one.
std::vector<std::string> in_shell(const std::string& text) {
    const char* const shell = std::getenv("SHELL");
    return {shell == nullptr || *shell == '\0' ? "/bin/sh" : shell, "-c", text};
}

int refuse_unseparated(const TypedLine& line) {
    if (line.command.empty()) {
        return refuse_usage("there is no command: " + with_separator(line) + " COMMAND");
    }
    say("put -- before the command; did you mean: " + with_separator(line) + "?");
    return usage;
}

}  // namespace

std::string RunOptions::all_names() const {
    return joined(names, ", ");
}

CLI::App& add_run_options(CLI::App& program, RunOptions& options) {
    CLI::App& command = add_subcommand(
        program, {.name = "run",
                  .summary = "Run a command under a lock",
                  .usage = "holdfast run [OPTION...] NAME... -- COMMAND [ARGUMENT...]",
                  .examples = run_examples});
    command.add_option("NAME", options.names, "What is locked: any text")->required();
    add_waiting(command, options);
    add_share(command, options);
    add_store(command, options.store);
    add_lock(command, options);
    add_ending(command, options);
    add_for_shell(command, options);
    command.add_flag("--verbose", options.verbose, "Tell each step, with its time");
    command.callback([&options] { check_together(options); });
    return command;
}

std::optional<int> take_command(RunOptions& options, const TypedLine& line) {
    if (options.for_shell) {
        if (line.separated || !line.command.empty()) {
            return refuse_usage("-c has the command already; leave the other one out");
        }
        options.command = in_shell(*options.for_shell);
        return std::nullopt;
    }
    if (!line.separated) return refuse_unseparated(line);
    if (line.command.empty()) return refuse_usage("there is no command behind the --");
    options.command.assign(line.command.begin(), line.command.end());
    if (options.command.front().empty()) return refuse_usage("the command behind the -- is empty");
    return std::nullopt;
}

}  // namespace holdfast::cli
