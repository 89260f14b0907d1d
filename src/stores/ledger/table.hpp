#pragma once

#include <optional>
#include <string_view>

namespace holdfast::inline v0::ledger {

/// An ordered map of bytes inside one transaction: what a Ledger writes on. Keys are at most 64
/// bytes. Views stay valid until the next change. A table that cannot go on throws; the
/// transaction is then undone as a whole.
class Table {
public:
    virtual ~Table() = default;

    struct Row {
        std::string_view key;
        std::string_view value;
    };

    virtual std::optional<std::string_view> get(std::string_view key) = 0;
    /// The first row whose key is `key` or comes after it, in byte order.
    virtual std::optional<Row> at_or_after(std::string_view key) = 0;
    virtual void put(std::string_view key, std::string_view value) = 0;
    /// Nothing happens when there is no such key.
    virtual void erase(std::string_view key) = 0;
};

}  // namespace holdfast::inline v0::ledger
