#include "cli/mistyped.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <CLI/CLI.hpp>

namespace holdfast::cli {
namespace {

/// How many letters have to be put in, taken out or replaced to make one of the other.
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::vector<std::string> long_options_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* const option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

bool knows(const CLI::App& command, const std::string& option) {
    return command.get_option_no_throw(option) != nullptr;
}

std::optional<std::string> unknown_long(const CLI::App& command, const std::string& option) {
    if (knows(command, option)) return std::nullopt;
    const std::string meant = nearest(option, long_options_of(command));
    return "there is no option " + option + (meant.empty() ? "" : "; did you mean " + meant + "?");
}

/// A sentence about the first unknown one of letters that may stand together: `-nw5`.
std::optional<std::string> unknown_letter(const CLI::App& command, std::string_view word) {
    for (const char letter : word.substr(1)) {
        const std::string option{'-', letter};
        if (!knows(command, option)) {
            return "there is no option " + option +
                   "; a name that starts with a dash stands behind a --";
        }
        if (has_value(command, option)) break;
    }
    return std::nullopt;
}

}  // namespace

std::string nearest(std::string_view mistyped, const std::vector<std::string>& words) {
    constexpr std::size_t long_enough = 5;
    for (const std::string& word : words) {
        if (mistyped.size() >= long_enough && word.starts_with(mistyped)) return word;
    }
    const auto near = std::ranges::min_element(
        words, {}, [&](const std::string& word) { return distance(mistyped, word); });
    const bool is_near = near != words.end() && distance(mistyped, *near) <= 2 &&
                         distance(mistyped, *near) <= near->size() / 2;
    return is_near ? *near : "";
}

std::optional<std::string> unknown_option(Words ours, const CLI::App& command) {
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const std::string_view word = ours[i];
        if (word == "--") break;
        if (word.size() < 2 || word[0] != '-') continue;
        auto unknown = word.starts_with("--")
                           ? unknown_long(command, std::string(word.substr(0, word.find('='))))
                           : unknown_letter(command, word);
        if (unknown) return unknown;
        if (takes_next(command, word)) ++i;
    }
    return std::nullopt;
}

}  // namespace holdfast::cli
