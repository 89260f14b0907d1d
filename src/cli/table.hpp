#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/ink.hpp"

namespace holdfast::cli {

/// Rows under headings, aligned by what a terminal shows and not by bytes.
class Table {
public:
    enum class Side : std::uint8_t { left, right };
    struct Column {
        std::string heading;
        Side side = Side::left;
    };
    /// The text must be one that visible() made.
    struct Cell {
        std::string text;
        Ink ink = Ink::plain;
    };
    using Row = std::vector<Cell>;

    explicit Table(std::vector<Column> columns);

    /// One cell for each column.
    void add(Row row);
    /// All of it, a line for each row; nothing when there is no row.
    std::string text(Colour colour) const;

private:
    void append_line(std::string& text, const Row& row, Colour colour) const;

    std::vector<Column> columns_;
    std::vector<std::size_t> widths_;
    std::vector<Row> rows_;
};

}  // namespace holdfast::cli
