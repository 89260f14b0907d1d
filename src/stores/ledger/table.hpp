#pragma once

#include <optional>
#include <string>
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

    /// Calls `each(row)` for all rows whose key begins like this, in order. It may change the
    /// table, when it does not need the row any more.
    template <class Each>
    void for_each(std::string_view prefix, Each each) {
        std::string next;
        for (auto row = at_or_after(prefix); row && row->key.starts_with(prefix);
             row = at_or_after(next)) {
            next.assign(row->key).push_back('\0');
            each(*row);
        }
    }
};

}  // namespace holdfast::inline v0::ledger
