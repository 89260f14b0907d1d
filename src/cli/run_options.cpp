#include <cstdlib>

#include "cli/duration.hpp"
#include "cli/help.hpp"
#include "cli/run.hpp"
#include "cli/store.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* examples = R"(Examples:
  holdfast run backup -- tar -cf backup.tar data       one at a time on this machine
  holdfast run -n nightly -- ./nightly                 give up at once if it runs already
  holdfast run -w 30s deploy -- make deploy            wait for at most 30 seconds
  holdfast run -j 3 downloads -- curl -O URL           at most three at once
  holdfast run -s catalogue -- ./read                  with other readers, without a writer
  holdfast run accounts/7 accounts/9 -- ./transfer     all of them or none

The command finds HOLDFAST_NAME, HOLDFAST_FENCE, HOLDFAST_OWNER and HOLDFAST_STORE in its
environment; with several names, one name and one fence a line, in the order of the names. Give
the fence to what the lock guards, so that it can refuse a late writer.
If holdfast itself is killed (SIGKILL), the command goes on without its lock: use the fence.

Exit code: the command's own, or 128 and its signal; 75 not acquired (or -E), 76 the hold was
lost, 69 the store cannot be reached, 64 usage, 78 bad configuration, 126 and 127 as a shell.)";

std::chrono::nanoseconds duration_or_refuse(const char* option, const std::string& text) {
    if (const auto duration = parse_duration(text)) return *duration;
    const bool negative = text.starts_with('-') && parse_duration(text.substr(1));
    throw CLI::ValidationError(option, "'" + text + "' is " +
                                           (negative ? "negative" : "no duration") +
                                           "; write 500ms, 30s, 5m or 1h");
}

void add_waiting(CLI::App& command, RunOptions& options) {
    auto* const nonblock = command.add_flag_callback(
        "-n,--nonblock", [&] { options.patience = std::chrono::nanoseconds::zero(); },
        "Do not wait: fail if it is held");
    command
        .add_option_function<std::string>(
            "-w,--wait",
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
    auto* const shared = command.add_flag("-s,--shared", options.shared, "Share it with other -s");
    auto* const exclusive = command.add_flag_callback(
        "-x,-e,--exclusive", [] {}, "Share it with nobody: the default");
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
                options.lock.lease = std::chrono::floor<std::chrono::milliseconds>(
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
    command.add_flag("--reenter", options.lock.reenter,
                     "Join a hold of the same owner; the owner is --owner or $HOLDFAST_OWNER");
}

void check_together(const RunOptions& options) {
    if (options.names.size() > 1 && (options.shared || options.slots)) {
        throw CLI::ValidationError("several names are taken exclusively; leave out -s and -j");
    }
}

}  // namespace

CLI::App* add_run(CLI::App& program, RunOptions& options) {
    CLI::App* const command = program.add_subcommand("run", "Run a command under a lock");
    command->formatter(std::make_shared<HelpWithUsage>(
        "holdfast run [OPTION...] NAME... -- COMMAND [ARGUMENT...]"));
    command->add_option("NAME", options.names, "What is locked: any text")->required();
    add_waiting(*command, options);
    add_share(*command, options);
    add_store(*command, options.store);
    add_lock(*command, options);
    command->add_flag("--verbose", options.verbose, "Tell each step");
    command->footer(examples);
    command->callback([&options] { check_together(options); });
    return command;
}

}  // namespace holdfast::cli
