#pragma once

#include <lmdb.h>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stores/ledger/table.hpp"
#include "stores/local/control.hpp"
#include "stores/local/folder.hpp"

namespace holdfast::inline v0::local {

/// The file with the table. Its neighbour, the control page, knows its inode.
inline constexpr const char* table_file = "lines.mdb";

/// The store's table: an LMDB environment that all processes write in turns.
/// LMDB's own locks are off: its writer lock has no time limit. Nothing is ever synced: locks mean
/// nothing after a reboot.
/// Threads: all members may be called from any thread.
class Environment {
public:
    /// Opens the table that belongs to the control page, or makes it when the page has none.
    /// Throws Error: disk full, damaged.
    Environment(const Folder& folder, Control& control);
    ~Environment();
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

    /// Calls `work(table)` in one transaction, in one turn. When it throws, nothing happened. May
    /// call it again: when the table has to grow.
    template <class Work>
    void transact(Work&& work) {
        while (!attempt(work)) {
        }
    }

    /// The highest fence ever given; only inside a transaction.
    std::uint64_t& last_fence() noexcept { return control_.page().last_fence; }
    /// How many turns were taken; only inside a transaction, where it is this one's number.
    std::uint64_t turn() const noexcept {
        return control_.page().turnstile.turns.load(std::memory_order_relaxed);
    }

private:
    struct MapFull {};

    /// A write transaction as a table. Undone unless committed.
    class Transaction final : public ledger::Table {
    public:
        explicit Transaction(const Environment& environment);
        ~Transaction() override;
        Transaction(const Transaction&) = delete;
        Transaction& operator=(const Transaction&) = delete;

        std::optional<std::string_view> get(std::string_view key) override;
        std::optional<Row> at_or_after(std::string_view key) override;
        void put(std::string_view key, std::string_view value) override;
        void erase(std::string_view key) override;
        void commit();
        void abort() noexcept;

    private:
        void check(int code) const;

        const Environment& environment_;
        MDB_txn* transaction_ = nullptr;
        MDB_cursor* cursor_ = nullptr;  ///< opened when first needed; ends with the transaction
    };

    template <class Work>
    bool attempt(Work& work) {
        const Control::Turn turn(control_);
        if (control_.page().map_size != map_size_) adopt_size();
        Transaction transaction(*this);
        try {
            work(static_cast<ledger::Table&>(transaction));
            transaction.commit();
            return true;
        } catch (const MapFull&) {
            transaction.abort();
            grow();
            return false;
        }
    }

    void open();
    void open_rows();
    void reopen();
    void close() noexcept;
    void allocate(std::uint64_t size) const;
    std::uint64_t sound_map_size() const;
    void adopt_size();
    void grow();
    [[noreturn]] void fail(int code) const;

    const Folder& folder_;
    Control& control_;
    MDB_env* environment_ = nullptr;  ///< null: to be opened again
    MDB_dbi rows_ = 0;
    std::uint64_t map_size_ = 0;  ///< as this process has mapped it; nought: it could not
};

}  // namespace holdfast::inline v0::local
