#include "chaos/fault_table.hpp"

#include <stdexcept>

namespace holdfast::chaos {

FaultTable::FaultTable(const std::string& store)
    : page_(store + ".md"),
      table_(HOLDFAST_TEST_DOCS "/stores/" + page_, "## What becomes of a hold") {}

Excused FaultTable::excused(const std::string& row, const std::string& column) const {
    const std::string cell = table_.cell(row, column);
    if (cell == "no such cell") {
        throw std::logic_error(page_ + " has no cell: " + row + ", " + column);
    }
    if (cell == "fenced") return {.row = row};
    if (cell == "double") return {.row = row, .told_apart = false};
    return {};
}

}  // namespace holdfast::chaos
