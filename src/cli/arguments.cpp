#include "cli/arguments.hpp"

#include <charconv>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

namespace holdfast::cli {
namespace {

/// The help's form, with a usage line of our own.
class HelpWithUsage : public CLI::Formatter {
public:
    explicit HelpWithUsage(std::string usage) : usage_(std::move(usage)) { column_width(34); }

    std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
        return "Usage: " + usage_ + "\n";
    }

    /// The argument's kind, and not what excludes what: who gives both is told.
    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string& text = option->get_option_text();
        return text.empty() ? "" : " " + text;
    }

private:
    std::string usage_;
};

std::uint64_t fence_or_refuse(const std::string& text) {
    std::uint64_t fence = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, fence);
    if (error == std::errc{} && stopped == end) return fence;
    throw CLI::ValidationError("--fence",
                               "'" + text + "' is no fence; holdfast show NAME tells it");
}

/// Mostly a variable that is not set: silently taking the lock elsewhere would exclude nobody.
std::string refuse_empty(const std::string& url) {
    return url.empty() ? "the URL is empty; leave -S out for this machine" : "";
}

void add_store_by(const std::string& names, CLI::App& subcommand, std::string& url) {
    // An empty variable counts as unset: the parser sees to that.
    subcommand.add_option(names, url, "The store; else $HOLDFAST_STORE; else local:")
        ->option_text("URL")
        ->envname("HOLDFAST_STORE")
        ->check(refuse_empty);
}

}  // namespace

void set_help(CLI::App& subcommand, std::string usage, const char* examples) {
    subcommand.formatter(std::make_shared<HelpWithUsage>(std::move(usage)));
    subcommand.footer(examples);
}

CLI::App& add_subcommand(CLI::App& program, const Heading& heading) {
    CLI::App& subcommand = *program.add_subcommand(heading.name, heading.summary);
    set_help(subcommand, heading.usage, heading.examples);
    return subcommand;
}

void add_name(CLI::App& subcommand, std::string& name) {
    subcommand.add_option("NAME", name, "The resource: its whole name")
        ->required()
        ->check([](const std::string& text) { return text.empty() ? "the name is empty" : ""; });
}

void add_prefix(CLI::App& subcommand, std::string& prefix) {
    subcommand.add_option("PREFIX", prefix, "Only what starts with this");
}

void add_fence(CLI::App& subcommand, std::uint64_t& fence) {
    subcommand
        .add_option_function<std::string>(
            "--fence", [&](const std::string& text) { fence = fence_or_refuse(text); },
            "The fence of the hold to be ended; 0: what is held without one")
        ->option_text("N")
        ->required();
}

void add_json(CLI::App& subcommand, bool& json) {
    subcommand.add_flag("--json", json, "For programs");
}

void add_store(CLI::App& subcommand, std::string& url) {
    add_store_by("-S,--store", subcommand, url);
}

void add_store_or_word(CLI::App& subcommand, std::string& url) {
    add_store_by("-S,--store,URL", subcommand, url);
}

}  // namespace holdfast::cli
