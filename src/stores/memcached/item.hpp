#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "port/contender.hpp"
#include "port/store_url.hpp"

/// A lock as an item of memcached: whoever has made it holds.
namespace holdfast::inline v0::memcached {

/// Under which key a lock is.
class Layout {
public:
    virtual ~Layout() = default;

    virtual std::string key_of(std::string_view resource) const = 0;
    /// Why there cannot be such a lock, in a sentence; nothing when there can.
    virtual std::optional<std::string> objection_to(std::string_view resource) const = 0;
};

/// The name, escaped; of a long one its beginning and its SHA-256. Two names never meet.
std::unique_ptr<Layout> holdfast_layout();
/// The name as it is, as other programs use it that `add` and `delete` a key.
std::unique_ptr<Layout> plain_layout();
/// The one that the URL asks for. Throws Error with errc::bad_configuration when there is none.
std::unique_ptr<Layout> layout_of(const StoreUrl& url);

/// What was done to an item of ours last. A copy of the request that made it may come late, and
/// make it once more when another one has held meanwhile; what was renewed was there all the time,
/// for a renewal names a version.
enum class Deed : std::uint8_t { made, kept };

/// The version of an item, and the connection by which it was told.
struct Version {
    std::uint64_t cas = 0;
    std::uint64_t connection = 0;
    Deed deed = Deed::made;

    bool operator==(const Version&) const = default;
};

/// What is in a contender's item, and no other's: its nonce, and for people where it comes from.
/// Behind it comes the deed.
std::string value_of(const Contender& contender);
std::string value_at(Deed deed, std::string value);
/// Whose item this is; nothing when it is none of ours.
std::optional<Nonce> nonce_in(std::string_view value);
/// What was done to it last, if it is one of ours.
Deed deed_in(std::string_view value);

/// A contender, as memcached is to know it.
struct Identity {
    std::string resource;
    Nonce nonce;
    std::string key;
    std::string value;  ///< of its item, without the deed
    /// Of a foreign one, which has nothing in its value that no other has: the item that was seen.
    std::optional<Version> seen = std::nullopt;
};
Identity identity_of(const Contender& contender, const Layout& layout);
Identity identity_of(const Ticket& ticket, const Layout& layout);

/// Whether an item with this value, at this version, is its own.
bool is_of(std::string_view value, const Version& version, const Identity& who);
/// The holder, as its item tells of it.
Place place_in(const std::string& resource, std::string_view value, const Version& version);

}  // namespace holdfast::inline v0::memcached
