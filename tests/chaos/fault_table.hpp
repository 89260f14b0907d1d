#pragma once

#include <string>

#include "chaos/site.hpp"
#include "support/docs_table.hpp"

namespace holdfast::chaos {

/// The row of each page's table that says what a hold is worth that somebody ends.
inline constexpr const char* ended_by_hand = "somebody ends it by hand";

/// What a store's page says of faults: under "What becomes of a hold".
class FaultTable {
public:
    explicit FaultTable(const std::string& store);

    /// The row, if two may hold by it. Throws std::logic_error when the page has no such cell.
    Excused excused(const std::string& row, const std::string& column = "then") const;

private:
    const std::string page_;
    const test::DocsTable table_;
};

}  // namespace holdfast::chaos
