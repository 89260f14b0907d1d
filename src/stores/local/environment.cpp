#include "stores/local/environment.hpp"

#include <fcntl.h>

#include <bit>
#include <string>

namespace holdfast::inline v0::local {

namespace {

/// Enough for some thousand contenders, and allocated in no time.
constexpr std::uint64_t first_map_size = std::uint64_t{1} << 20;

/// It is doubled, as often as need be: what is no such size was not written by us, and room for it
/// is not asked for.
bool is_map_size(std::uint64_t size) {
    constexpr std::uint64_t largest = std::uint64_t{1} << 44;
    return std::has_single_bit(size) && size >= first_map_size && size <= largest;
}

MDB_val val(std::string_view text) {
    return {.mv_size = text.size(), .mv_data = const_cast<char*>(text.data())};
}

std::string_view view(const MDB_val& value) {
    return {static_cast<const char*>(value.mv_data), value.mv_size};
}

}  // namespace

Environment::Environment(const Folder& folder, Control& control)
    : folder_(folder), control_(control) {
    const Control::Turn turn(control_);
    ControlPage& page = control_.page();
    try {
        if (page.table_inode == 0) {
            // Never emptied in place: somebody could still have the old file mapped.
            folder_.remove(table_file);
            page.map_size = first_map_size;
        }
        map_size_ = sound_map_size();
        open();
        allocate(map_size_);
        page.table_inode = folder_.inode_of(table_file).value_or(0);
    } catch (...) {
        close();
        throw;
    }
}

Environment::~Environment() {
    close();
}

void Environment::open() {
    // Made here, because its mode is nobody's umask's business. LMDB takes an empty one for new.
    folder_.open_file(table_file);
    const BeyondStandard beyond;
    if (const int code = mdb_env_create(&environment_); code != 0) fail(code);
    // The size of the page, always: a smaller one would cut off the file under the others.
    mdb_env_set_mapsize(environment_, map_size_);
    const int code = mdb_env_open(environment_, folder_.reach(table_file).c_str(),
                                  MDB_NOSUBDIR | MDB_NOSYNC | MDB_WRITEMAP | MDB_NOLOCK,
                                  static_cast<mdb_mode_t>(folder_.mode()));
    if (code != 0) fail(code);
    // LMDB leaves its file open to whatever this process executes.
    int file = -1;
    mdb_env_get_fd(environment_, &file);
    fcntl(file, F_SETFD, FD_CLOEXEC);
    open_rows();
}

void Environment::open_rows() {
    MDB_txn* transaction = nullptr;
    if (const int begun = mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction)) {
        fail(begun);
    }
    const int opened = mdb_dbi_open(transaction, nullptr, 0, &rows_);
    mdb_txn_abort(transaction);
    if (opened != 0) fail(opened);
}

/// What could not be mapped when the table grew.
void Environment::reopen() {
    if (folder_.inode_of(table_file) != control_.page().table_inode) {
        folder_.fail(errc::unreachable, std::string("its file ") + table_file +
                                            " was removed or replaced; open the store again");
    }
    try {
        open();
    } catch (...) {
        close();
        throw;
    }
}

void Environment::close() noexcept {
    if (environment_ != nullptr) mdb_env_close(environment_);
    environment_ = nullptr;
    map_size_ = 0;
}

/// A hole that the disk has no room for would end the process by SIGBUS when it is written to.
void Environment::allocate(std::uint64_t size) const {
    int file = -1;
    mdb_env_get_fd(environment_, &file);
    const int error = posix_fallocate(file, 0, static_cast<off_t>(size));
    if (error != 0) {
        folder_.fail_with(error, "cannot grow to " + std::to_string(size >> 20) + " MiB");
    }
}

std::uint64_t Environment::sound_map_size() const {
    const std::uint64_t size = control_.page().map_size;
    if (is_map_size(size)) return size;
    folder_.fail(errc::corrupt,
                 "its file control is damaged; end all its users and remove both its files");
}

/// Another process has made the table larger; or it was larger than this one could map then.
void Environment::adopt_size() {
    const std::uint64_t size = sound_map_size();
    if (environment_ == nullptr) {
        map_size_ = size;
        reopen();
    } else if (const int code = mdb_env_set_mapsize(environment_, size); code != 0) {
        // It has let the old map go first, and would go on reading there.
        close();
        fail(code);
    }
    map_size_ = size;
}

void Environment::grow() {
    const std::uint64_t size = map_size_ * 2;
    allocate(size);
    control_.page().map_size = size;
    adopt_size();
}

void Environment::fail(int code) const {
    switch (code) {
        case MDB_CORRUPTED:
        case MDB_INVALID:
        case MDB_PAGE_NOTFOUND:
        case MDB_PANIC:
        case MDB_VERSION_MISMATCH:
            folder_.fail(errc::corrupt, std::string("its file ") + table_file + " is damaged (" +
                                            mdb_strerror(code) +
                                            "); end all its users and remove that file");
        default:
            if (code > 0) folder_.fail_with(code, std::string("its file ") + table_file + " fails");
            folder_.fail(errc::unreachable, std::string(table_file) + ": " + mdb_strerror(code));
    }
}

Environment::Transaction::Transaction(const Environment& environment) : environment_(environment) {
    check(mdb_txn_begin(environment_.environment_, nullptr, 0, &transaction_));
}

Environment::Transaction::~Transaction() {
    abort();
}

void Environment::Transaction::abort() noexcept {
    if (transaction_ == nullptr) return;
    mdb_txn_abort(transaction_);
    transaction_ = nullptr;
}

void Environment::Transaction::commit() {
    MDB_txn* const transaction = transaction_;
    transaction_ = nullptr;  // it is over, whether it succeeds or not
    check(mdb_txn_commit(transaction));
}

void Environment::Transaction::check(int code) const {
    if (code == 0) [[likely]]
        return;
    if (code == MDB_MAP_FULL) throw MapFull{};
    environment_.fail(code);
}

std::optional<std::string_view> Environment::Transaction::get(std::string_view key) {
    MDB_val wanted = val(key);
    MDB_val found;
    const int code = mdb_get(transaction_, environment_.rows_, &wanted, &found);
    if (code == MDB_NOTFOUND) return std::nullopt;
    check(code);
    return view(found);
}

std::optional<ledger::Table::Row> Environment::Transaction::at_or_after(std::string_view key) {
    if (cursor_ == nullptr) check(mdb_cursor_open(transaction_, environment_.rows_, &cursor_));
    MDB_val wanted = val(key);
    MDB_val found;
    const int code =
        mdb_cursor_get(cursor_, &wanted, &found, key.empty() ? MDB_FIRST : MDB_SET_RANGE);
    if (code == MDB_NOTFOUND) return std::nullopt;
    check(code);
    return Row{view(wanted), view(found)};
}

void Environment::Transaction::put(std::string_view key, std::string_view value) {
    MDB_val at = val(key);
    MDB_val stored = val(value);
    check(mdb_put(transaction_, environment_.rows_, &at, &stored, 0));
}

void Environment::Transaction::erase(std::string_view key) {
    MDB_val at = val(key);
    const int code = mdb_del(transaction_, environment_.rows_, &at, nullptr);
    if (code != MDB_NOTFOUND) check(code);
}

}  // namespace holdfast::inline v0::local
