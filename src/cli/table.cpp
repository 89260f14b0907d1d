#include "cli/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <utility>

#include "cli/format.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

/// The code of an ink: one of the sixteen colours that every terminal has, so that they suit its
/// background.
std::string_view code_of(Ink ink) {
    switch (ink) {
        case Ink::heading:
            return "1";
        case Ink::held:
            return "32";
        case Ink::waiting:
            return "33";
        case Ink::plain:
            break;
    }
    return {};
}

}  // namespace

Colour colour_of_output() {
    const std::string_view terminal = variable("TERM");
    const bool wanted = !terminal.empty() && terminal != "dumb" && variable("NO_COLOR").empty();
    return wanted && isatty(STDOUT_FILENO) == 1 ? Colour::on : Colour::off;
}

std::string painted(std::string_view text, Ink ink, Colour colour) {
    const std::string_view code = code_of(ink);
    if (colour == Colour::off || code.empty()) return std::string(text);
    return formatted("\x1b[{}m{}\x1b[0m", code, text);
}

Table::Table(std::vector<Column> columns)
    : columns_(std::move(columns)), widths_(columns_.size(), 0) {
    Row headings;
    for (const Column& column : columns_) headings.push_back({column.heading, Ink::heading});
    add(std::move(headings));
}

void Table::add(Row row) {
    assert(row.size() == columns_.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
        widths_[i] = std::max(widths_[i], columns_of(row[i].text));
    }
    rows_.push_back(std::move(row));
}

std::string Table::text(Colour colour) const {
    std::string text;
    if (rows_.size() == 1) return text;
    for (const Row& row : rows_) append_line(text, row, colour);
    return text;
}

void Table::append_line(std::string& text, const Row& row, Colour colour) const {
    for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string gap(widths_[i] - columns_of(row[i].text), ' ');
        const bool last = i + 1 == row.size();
        if (columns_[i].side == Side::right) text += gap;
        text += painted(row[i].text, row[i].ink, colour);
        if (columns_[i].side == Side::left && !last) text += gap;
        text += last ? "\n" : "  ";
    }
}

}  // namespace holdfast::cli
