#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/arguments.hpp"
#include "cli/connecting.hpp"
#include "cli/contending.hpp"
#include "cli/descriptor.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/json.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"
#include "cli/table.hpp"
#include "cli/trial.hpp"
#include "cli/visible.hpp"
#include "verify/picture.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* verify_examples = R"(Examples:
  holdfast verify redis://db                     do locks keep their promises there
  holdfast verify etcd://h1,h2 --pauses --kills  and when clients stand still and die
  holdfast verify --html trial.html              who held, waited and lost, as a page

Exit codes: 0 every promise was kept, 1 one was broken, 69 the store cannot be reached, 78 it cannot
be used. Its locks are its own, below a prefix that nobody else has; nothing is left of them.)";

struct VerifyOptions {
    TrialOptions trial;
    std::string page;
    bool json = false;
    bool contends = false;  ///< this is one of our own clients
};

/// The file of --html, opened before the trial, so that nobody learns at its end that it cannot be
/// written.
class PageFile {
public:
    explicit PageFile(std::string path) : path_(std::move(path)) {
        if (path_.empty()) return;
        const int descriptor = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor < 0) refuse();
        file_ = Descriptor(descriptor);
    }

    void write(const std::string& page) const {
        if (path_.empty()) return;
        // So that writing says so.
        std::signal(SIGPIPE, SIG_IGN);
        if (ftruncate(file_.get(), 0) != 0 && errno != EINVAL) refuse();  // a pipe has no length
        for (std::size_t written = 0; written < page.size();) {
            const auto more = ::write(file_.get(), page.data() + written, page.size() - written);
            if (more < 0 && errno != EINTR) refuse();
            if (more > 0) written += static_cast<std::size_t>(more);
        }
    }

private:
    [[noreturn]] void refuse() const {
        const std::error_code why(errno, std::generic_category());
        say(formatted("{}: the page cannot be written there ({})", visible(path_), why.message()));
        throw NotWritten{};
    }

    std::string path_;
    Descriptor file_;
};

std::string shown(verify::Instant time) {
    const double milliseconds = static_cast<double>(time) / 1e6;
    if (milliseconds < 1) return formatted("{:.0f} us", milliseconds * 1000);
    if (milliseconds < 1000) return formatted("{:.1f} ms", milliseconds);
    return formatted("{:.2f} s", milliseconds / 1000);
}

std::string line_of(std::string_view what, const verify::Times& times) {
    if (times.count == 0) return formatted("{:<10}none\n", what);
    return formatted("{:<10}p50 {}, p99 {}, of {}\n", what, shown(times.p50), shown(times.p99),
                     times.count);
}

std::string figures_in(const verify::Report& report) {
    const verify::Figures& figures = report.figures;
    std::size_t killed = 0;
    for (const auto& one : report.trial.interferences) killed += one.killed ? 1 : 0;
    return formatted("{:<10}{} for {}, leases of {}, --seed {}; pauses {}, kills {}\n", "clients",
                     report.trial.clients.size(),
                     show_duration(std::chrono::nanoseconds{report.trial.end - report.trial.begin}),
                     show_duration(report.trial.manner.longest_lease), report.trial.seed,
                     report.trial.interferences.size() - killed, killed) +
           formatted("{:<10}{} of {} asked, {} found it held\n", "holds", figures.holds,
                     figures.asked, figures.busy) +
           line_of("wait", figures.wait) + line_of("hand-off", figures.hand_off) +
           formatted("{:<10}{}, of those {} standing still\n", "lost", figures.lost,
                     figures.lost_standing_still);
}

std::string broken_in(const verify::Report& report, Colour colour) {
    constexpr std::size_t told_at_most = 10;
    std::string text;
    for (std::size_t i = 0; i < report.broken.size() && i < told_at_most; ++i) {
        const auto& [promise, violation] = report.broken[i];
        text += painted(formatted("broken: {}", name_of(promise)), Ink::waiting, colour);
        if (violation.at > report.trial.begin) {
            text += formatted(" at {}", shown(violation.at - report.trial.begin));
        }
        text += formatted(": {}\n", visible(violation.what));
    }
    if (report.broken.size() > told_at_most) {
        text += formatted("and {} more\n", report.broken.size() - told_at_most);
    }
    return text + (text.empty() ? "" : "\n");
}

/// What follows for somebody whose lock two had at once.
std::string advice_on(const verify::Report& report) {
    bool met = false;
    bool told_apart = true;
    for (const auto& [promise, violation] : report.broken) {
        if (promise != verify::Promise::exclusion) continue;
        met = true;
        told_apart = told_apart && violation.fenced && violation.told_in_time;
    }
    if (!met) return "";
    return told_apart
               ? "  so: whoever came in has the larger fence, and the other one learned of it "
                 "within "
                 "its lease. That is what a store does that forgot who holds, whose clock was set "
                 "forward, or on which somebody ended a hold by hand.\n"
                 "  do: let what the lock guards check the fence; `holdfast check` says what of "
                 "the "
                 "store's settings lets it forget\n\n"
               : "  so: nothing tells the two apart, or the first one was not told in time: what "
                 "the "
                 "lock guards cannot refuse it.\n"
                 "  do: look in the store's page, under \"What becomes of a hold\", whether that "
                 "is "
                 "what it says of what befell it; if it is not, it is a fault: please report it "
                 "with "
                 "the page of --html\n\n";
}

std::string page_of(const verify::Report& report) {
    const Colour colour = colour_of_output();
    const std::string verdict =
        report.holds()
            ? "every promise was kept"
            : formatted("{} broken", report.broken.size() == 1 ? "a promise was" : "promises were");
    std::string text = painted(visible(report.trial.store) + ": " + verdict, Ink::heading, colour);
    text += "\n\n" + broken_in(report, colour) + advice_on(report) + figures_in(report);
    if (!report.exempt.empty()) text += "\nnot judged, or no fault:\n";
    for (const verify::Exemption& one : report.exempt) {
        text += formatted("  {}: {}\n", visible(one.what), visible(one.why));
    }
    return text;
}

verify::Report try_out_unless_ended(const TrialOptions& options) {
    // Its clients would go on, and nobody would look after them.
    ignore_stops();
    const Signals signals;
    try {
        return try_out(options, signals);
    } catch (const EndedBySignal& ended) {
        die_by(ended.signal);
    }
}

int verify_store(const VerifyOptions& options) {
    if (options.contends) return contend();
    refuse_private(options.trial.store);
    // Whoever is to read it may let us wait: then, here and when it is written, a signal ends us.
    const PageFile page(options.page);
    const verify::Report report = try_out_unless_ended(options.trial);
    page.write(picture_of(report));
    print(options.json ? json_of(report) : page_of(report));
    return report.holds() ? success : promise_broken;
}

std::chrono::milliseconds time_or_refuse(const char* option, const std::string& text,
                                         std::chrono::milliseconds least,
                                         std::chrono::milliseconds most) {
    const auto time = parse_duration(text);
    if (!time) {
        throw CLI::ValidationError(option,
                                   "'" + text + "' is no duration; write 500ms, 30s, 5m or 1h");
    }
    if (*time < least || *time > most) {
        throw CLI::ValidationError(option, formatted("'{}' is not from {} to {}", text,
                                                     show_duration(least), show_duration(most)));
    }
    return std::chrono::round<std::chrono::milliseconds>(*time);
}

void add_extent(CLI::App& parser, TrialOptions& trial) {
    parser.add_option("--clients", trial.clients, "How many processes contend (5)")
        ->option_text("N")
        ->check(CLI::Range(2, 64));
    parser
        .add_option_function<std::string>(
            "--time",
            [&](const std::string& text) {
                // Each step of each client is kept until the end.
                trial.time = time_or_refuse("--time", text, 1s, 10min);
            },
            "For how long (10s); at most 10m")
        ->option_text("DURATION");
    parser
        .add_option_function<std::string>(
            "--lease",
            [&](const std::string& text) {
                trial.lease = time_or_refuse("--lease", text, 100ms, 24h);
            },
            "The lease of all locks (2s)")
        ->option_text("DURATION");
    parser.add_option("--seed", trial.seed, "What decides by chance (chance)")->option_text("N");
}

void add_interference(CLI::App& parser, TrialOptions& trial) {
    parser.add_flag("--pauses", trial.pauses, "Stop clients of our own for a while (SIGSTOP)");
    parser.add_flag("--kills", trial.kills, "Kill clients of our own (SIGKILL)");
}

void add_options(CLI::App& parser, VerifyOptions& options) {
    add_extent(parser, options.trial);
    add_interference(parser, options.trial);
    parser.add_option("--html", options.page, "Write a page that shows who held, waited and lost")
        ->option_text("FILE");
    add_json(parser, options.json);
    add_store_or_word(parser, options.trial.store);
    parser.add_flag(contending_flag, options.contends)->group("");
}

}  // namespace

Subcommand add_verify(CLI::App& program, std::span<char* const> words) {
    const auto options = std::make_shared<VerifyOptions>();
    CLI::App& parser =
        add_subcommand(program, {.name = "verify",
                                 .summary = "Try out whether locks keep their promises on a store",
                                 .usage = "holdfast verify [OPTION...] [URL]",
                                 .examples = verify_examples});
    if (words.size() > 1 && words[1] == std::string_view("verify")) add_options(parser, *options);
    return {&parser, options->trial.store, [options] { return verify_store(*options); }};
}

}  // namespace holdfast::cli
