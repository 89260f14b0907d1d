#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::cli {

/// Help with a usage line of our own: the parser does not know what stands behind `--`.
class HelpWithUsage : public CLI::Formatter {
public:
    explicit HelpWithUsage(std::string usage) : usage_(std::move(usage)) { column_width(34); }

    std::string make_usage(const CLI::App* /*command*/, std::string /*name*/) const override {
        return "Usage: " + usage_ + "\n";
    }

private:
    std::string usage_;
};

}  // namespace holdfast::cli
