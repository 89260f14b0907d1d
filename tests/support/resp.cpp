#include "support/resp.hpp"

#include <charconv>
#include <sstream>

namespace holdfast::test {

namespace {

/// Without its end.
std::optional<std::string_view> take_line(std::string_view& input) {
    const auto end = input.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = input.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    input.remove_prefix(end + 1);
    return line;
}

long number_in(std::string_view text) {
    long number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

bool is_bulk(char type) {
    return type == '$' || type == '!' || type == '=';
}

/// How many values follow, of something that says `count`; nought of what has no parts.
long parts_of(char type, long count) {
    switch (type) {
        case '*':
        case '~':
        case '>':
            return count;
        case '%':
            return 2 * count;
        case '|':
            return 2 * count + 1;  // attributes, and the value that has them
        default:
            return 0;
    }
}

bool has_known_type(std::string_view line) {
    return !line.empty() && std::string_view("+-:$*_#,(!=%~>|").find(line[0]) != line.npos;
}

bool take_bulk(std::string_view& input, std::size_t size, Resp& value) {
    if (input.size() < size + 2) return false;
    value.text = input.substr(0, size);
    input.remove_prefix(size + 2);
    return true;
}

bool take_parts(std::string_view& input, long count, Resp& value) {
    for (long i = 0; i < count; ++i) {
        auto part = read_resp(input);
        if (!part) return false;
        value.parts.push_back(std::move(*part));
    }
    return true;
}

}  // namespace

std::optional<Resp> read_resp(std::string_view& input) {
    std::string_view rest = input;
    const auto line = take_line(rest);
    if (!line) return std::nullopt;
    Resp value;
    if (!has_known_type(*line)) {
        value.text = *line;
        input = rest;
        return value;
    }
    value.type = line->front();
    const std::string_view text = line->substr(1);
    const long count = number_in(text);
    const long parts = parts_of(value.type, count);
    value.null = value.type == '_' || ((is_bulk(value.type) || parts != 0) && count < 0);
    if (is_bulk(value.type) && count >= 0) {
        if (!take_bulk(rest, static_cast<std::size_t>(count), value)) return std::nullopt;
    } else if (parts > 0) {
        if (!take_parts(rest, parts, value)) return std::nullopt;
    } else if (parts_of(value.type, 1) == 0) {
        value.text = text;
    }
    input = rest;
    return value;
}

std::string to_resp(const std::vector<std::string>& words) {
    std::string request = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
        request += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return request;
}

std::string to_text(const Resp& value) {
    if (value.null) return "(nil)";
    if (value.type == '-' || value.type == '!') return "-" + value.text;
    if (parts_of(value.type, 1) == 0) return value.text;
    std::string all;
    for (const Resp& part : value.parts) all += (all.empty() ? "" : ", ") + to_text(part);
    return "[" + all + "]";
}

std::vector<std::string> words_of(std::string_view request) {
    std::vector<std::string> words;
    const auto value = read_resp(request);
    if (!value) return words;
    for (const Resp& part : value->parts) words.push_back(part.text);
    if (value->type == '*') return words;
    std::istringstream line(value->text);
    for (std::string word; line >> word;) words.push_back(word);
    return words;
}

}  // namespace holdfast::test
