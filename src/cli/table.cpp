#include "cli/table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "cli/utf8.hpp"

namespace holdfast::cli {

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
