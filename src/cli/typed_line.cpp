#include "cli/typed_line.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"

namespace holdfast::cli {
namespace {

constexpr std::string_view harmless_in_a_shell =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

constexpr std::string_view slashes = "://";

/// Where the value of a URL's secret parameter begins, behind `from`.
std::optional<std::size_t> secret_in(std::string_view text, std::size_t from) {
    constexpr std::string_view parameter = "auth=";
    for (auto at = text.find(parameter, from); at != text.npos; at = text.find(parameter, at + 1)) {
        if (at > 0 && (text[at - 1] == '?' || text[at - 1] == '&')) return at + parameter.size();
    }
    return std::nullopt;
}

bool is_option(std::string_view word) {
    return word.size() > 1 && word.starts_with('-');
}

/// How many words are ours in a line without a `--`.
std::size_t count_ours(Words words, const CLI::App& run) {
    bool named = false;
    for (std::size_t i = 2; i < words.size(); ++i) {
        if (is_option(words[i])) {
            if (takes_next(run, words[i])) ++i;
        } else if (named) {
            return i;
        } else {
            named = true;
        }
    }
    return words.size();
}

/// The word in quotes that say() leaves valid, although it doubles backslashes and shows control
/// characters as \x1b: $'...' reads both back.
std::string for_shell(const std::string& word) {
    if (!word.empty() && word.find_first_not_of(harmless_in_a_shell) == std::string::npos) {
        return word;
    }
    const bool to_be_read_back = std::ranges::any_of(word, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte >= 0x7f || c == '\\';
    });
    const std::string open = to_be_read_back ? "$'" : "'";
    std::string result = open;
    for (const char c : word) result += c == '\'' ? "'\"'\"" + open : std::string(1, c);
    return result + "'";
}

/// Whatever stands in it: of a password that should have been escaped nothing may be left.
std::string masked(std::string word) {
    const auto slashes_at = word.find(slashes);
    if (slashes_at == std::string::npos) return word;
    if (const auto secret = secret_in(word, slashes_at)) {
        word.replace(*secret, std::min(word.find('&', *secret), word.size()) - *secret, "...");
    }
    const auto begin = slashes_at + slashes.size();
    const auto host = word.rfind('@');
    if (host != std::string::npos && host >= begin) word.replace(begin, host - begin, "...");
    return word;
}

void append(std::string& text, Words words) {
    for (const char* const word : words) text += " " + for_shell(masked(word));
}

/// Where the command is parted from ours. What starts with a dash is no command, but a name, if
/// there is another one behind it.
Words::iterator separator_in(Words words) {
    constexpr std::string_view separator = "--";
    const auto first = std::ranges::find(words, separator);
    if (words.end() - first < 2 || !is_option(*(first + 1)) || *(first + 1) == separator) {
        return first;
    }
    const auto second = std::find(first + 1, words.end(), separator);
    return second == words.end() ? first : second;
}

}  // namespace

bool has_value(const CLI::App& command, const std::string& option) {
    const CLI::Option* const known = command.get_option_no_throw(option);
    return known != nullptr && known->get_items_expected_max() > 0;
}

bool takes_next(const CLI::App& command, std::string_view word) {
    if (word.starts_with("--")) return has_value(command, std::string(word));
    const auto letters = word.substr(1);
    const auto with_value = std::ranges::find_if(letters, [&](char letter) {
        return has_value(command, std::string{'-', letter});
    });
    return with_value != letters.end() && with_value + 1 == letters.end();
}

TypedLine split(Words words, const CLI::App& run) {
    if (words.size() < 2 || words[1] != run.get_name()) {
        return {.ours = words, .command = {}, .separated = false};
    }
    const auto separator = separator_in(words);
    const auto before = static_cast<std::size_t>(separator - words.begin());
    if (separator != words.end()) {
        return {
            .ours = words.first(before), .command = words.subspan(before + 1), .separated = true};
    }
    const std::size_t ours = count_ours(words, run);
    return {.ours = words.first(ours), .command = words.subspan(ours), .separated = false};
}

std::string with_separator(const TypedLine& line) {
    std::string text = "holdfast";
    append(text, line.ours.subspan(1));
    text += " --";
    append(text, line.command);
    return text;
}

std::string without_passwords(std::string text) {
    return masked(std::move(text));
}

int refuse_usage(const std::string& sentence, const std::string& about) {
    say(without_passwords(sentence) + "; see holdfast " + about + "--help");
    return usage;
}

}  // namespace holdfast::cli
