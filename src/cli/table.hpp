#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// What a text is painted for.
enum class Ink : std::uint8_t { plain, heading, held, waiting };

enum class Colour : std::uint8_t { off, on };

/// On when standard output is a terminal that knows colours ($TERM) and whose user has not asked
/// for none ($NO_COLOR, see no-color.org).
Colour colour_of_output();

/// The text as it is, or between the terminal's codes for the ink.
std::string painted(std::string_view text, Ink ink, Colour colour);

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
