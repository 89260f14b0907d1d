#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::test {

/// The first table below a heading of a page in Markdown: what the documentation says, for a test
/// to believe or to refute.
class DocsTable {
public:
    DocsTable(const std::filesystem::path& page, const std::string& heading) {
        std::ifstream in(page);
        std::string line;
        while (std::getline(in, line) && line != heading) {
        }
        while (std::getline(in, line) && !line.starts_with("|")) {
        }
        for (; line.starts_with("|"); std::getline(in, line)) {
            if (!line.starts_with("|---")) rows_.push_back(cells_of(line));
        }
    }

    /// Row and column nought are their names.
    std::string cell(std::size_t row, std::size_t column) const {
        return row < rows_.size() && column < rows_[row].size() ? rows_[row][column]
                                                                : "no such cell";
    }
    /// By how the row's name begins, and the column's name.
    std::string cell(const std::string& row, const std::string& column) const {
        std::size_t down = 0;
        while (down < rows_.size() && !cell(down, 0).starts_with(row)) ++down;
        std::size_t across = 0;
        while (across < rows_.at(0).size() && cell(0, across) != column) ++across;
        return cell(down, across);
    }

private:
    static std::vector<std::string> cells_of(const std::string& row) {
        std::vector<std::string> cells;
        std::istringstream in(row.substr(1));
        for (std::string cell; std::getline(in, cell, '|');) {
            const auto begin = cell.find_first_not_of(' ');
            if (begin == std::string::npos) {
                cells.emplace_back();
            } else {
                cells.push_back(cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin));
            }
        }
        return cells;
    }

    std::vector<std::vector<std::string>> rows_;
};

}  // namespace holdfast::test
