#pragma once

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::inline v0::sql {

/// What a server told of how it is set up: values by names, several of which may be the same.
class Settings {
public:
    void add(std::string name, std::string value) {
        values_.emplace(std::move(name), std::move(value));
    }

    /// Empty when it told none.
    std::string text(std::string_view name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? "" : found->second;
    }
    /// Nought when it told none.
    double number(std::string_view name) const {
        const std::string digits = text(name);
        double number = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
        return number;
    }
    std::vector<std::string> all_of(std::string_view name) const {
        std::vector<std::string> found;
        const auto [first, last] = values_.equal_range(name);
        for (auto at = first; at != last; ++at) found.push_back(at->second);
        return found;
    }

private:
    std::multimap<std::string, std::string, std::less<>> values_;
};

/// The setting that every dialect tells: microseconds since 1970, by the clock that leases are
/// counted by.
inline constexpr std::string_view clock_setting = "clock";

}  // namespace holdfast::inline v0::sql
