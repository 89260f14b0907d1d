#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "port/contender.hpp"

namespace holdfast::inline v0::ledger {

/// Tells the processes (more exactly: the clients) of one store apart. 0 is nobody.
using ClientId = std::uint64_t;

/// A resource's name, shortened: names may be longer than a key. Equal for equal names; that two
/// names never share one is made sure by the name in the head.
using ResourceId = std::array<char, 16>;

ResourceId id_of(std::string_view resource);

/// A line's head. The name follows it.
struct Head {
    std::uint64_t capacity = all;
    std::uint64_t held_weight = 0;     ///< of all holders
    std::uint64_t waiting_weight = 0;  ///< of all waiters but the lapsed
    std::uint64_t holders = 0;
    std::uint64_t joined = 0;  ///< how many of the holders share another one's place
    std::uint64_t waiters = 0;
    std::uint64_t next_ticket = 0;
    ClientId last_waiter = 0;
    /// No holder's lease or claim ends before this; renewals move the true end later.
    Moment earliest_end = Moment::max();
    Fairness fairness = Fairness::fifo;
};

/// How far a contender is.
enum class Phase : std::uint8_t {
    waiting,
    lapsed,   ///< waiting, but did not claim when it was its turn: passed over until heard of
    offered,  ///< a holder in waiting: its place is reserved until the claim ends
    admitted,
};

/// A contender. Its host and its owner follow it.
struct Record {
    Nonce nonce{};
    ClientId client = 0;
    ClientId ahead = 0;        ///< the client of the waiter before it; 0 when it was the first
    std::uint64_t weight = 0;  ///< 0 of one that joined another's hold
    std::uint64_t ticket = 0;
    std::uint64_t fence = 0;
    std::uint64_t serial = 0;  ///< of the latest renewal: see Extension
    Moment lease_end{};
    Moment claim_end{};
    Moment since{};  ///< when it was admitted, or entered while it is not
    Phase phase = Phase::waiting;
    std::uint8_t host_size = 0;
    std::int32_t pid = 0;

    bool over(Moment now) const { return lease_end <= now; }
    std::string_view host(std::string_view text) const { return text.substr(0, host_size); }
    std::string_view owner(std::string_view text) const { return text.substr(host_size); }
};

static_assert(std::is_trivially_copyable_v<Head> && std::is_trivially_copyable_v<Record>);

/// A fixed part and the text that follows it, as they stand in a table.
template <class Fixed>
struct Row {
    Fixed fixed;
    std::string_view text;

    static Row decode(std::string_view value) {
        assert(value.size() >= sizeof(Fixed));
        Row row;
        std::memcpy(&row.fixed, value.data(), sizeof(Fixed));
        row.text = value.substr(sizeof(Fixed));
        return row;
    }
};

/// Appends to a short key without allocating.
class Key {
public:
    explicit Key(char kind) { bytes_[size_++] = kind; }
    Key& operator<<(const ResourceId& id) { return append(id.data(), id.size()); }
    Key& operator<<(const Nonce& nonce) { return append(nonce.bytes.data(), nonce.bytes.size()); }
    /// Big-endian, so that byte order is numeric order.
    Key& operator<<(std::uint64_t number) {
        if constexpr (std::endian::native == std::endian::little) {
            number = __builtin_bswap64(number);
        }
        return append(&number, sizeof number);
    }
    operator std::string_view() const { return {bytes_.data(), size_}; }

private:
    Key& append(const void* data, std::size_t size) {
        assert(size_ + size <= bytes_.size());
        std::memcpy(bytes_.data() + size_, data, size);
        size_ += size;
        return *this;
    }
    std::array<char, 48> bytes_{};
    std::size_t size_ = 0;
};

/// Every kind of row a Ledger writes. A store may use the letters from p on for its own.
inline Key head_key(const ResourceId& id) {
    return Key('a') << id;
}
inline Key holder_key(const ResourceId& id, const Nonce& nonce) {
    return Key('b') << id << nonce;
}
inline Key waiter_key(const ResourceId& id, std::uint64_t ticket) {
    return Key('c') << id << ticket;
}
/// Where a client's waiter stands: its resource and ticket.
inline Key index_key(ClientId client, const Nonce& nonce) {
    return Key('d') << client << nonce;
}
inline Key tombstone_key(const Nonce& nonce) {
    return Key('e') << nonce;
}
inline Key tombstone_end_key(std::uint64_t end, const Nonce& nonce) {
    return Key('f') << end << nonce;
}

}  // namespace holdfast::inline v0::ledger
