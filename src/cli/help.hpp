#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::cli {

/// The help's form. With a usage line of our own: the parser does not know what is behind `--`.
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

}  // namespace holdfast::cli
