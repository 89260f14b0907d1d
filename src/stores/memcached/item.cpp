#include "stores/memcached/item.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "stores/net/address.hpp"
#include "stores/scripted/words.hpp"

namespace holdfast::inline v0::memcached {

namespace {

using scripted::Digits;

/// Of memcached's.
constexpr std::size_t longest_key = 250;

constexpr std::string_view our_mark = "holdfast";
constexpr std::size_t words_in_value = 6;
constexpr std::string_view word_of(Deed deed) {
    return deed == Deed::kept ? "kept" : "made";
}

std::string sha256(std::string_view text) {
    std::array<unsigned char, 32> digest{};
    if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1) {
        throw Error(errc::bad_configuration, "memcached: OpenSSL refuses to compute SHA-256");
    }
    return scripted::hex_of({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

class HoldfastLayout final : public Layout {
public:
    std::string key_of(std::string_view resource) const override {
        std::string key = scripted::escaped(resource, Digits::lower);
        if (key.size() <= longest_key) return key;
        // No escaped name has a tilde.
        const std::string digest = "~" + sha256(resource);
        return key.substr(0, longest_key - digest.size()) + digest;
    }
    std::optional<std::string> objection_to(std::string_view /*resource*/) const override {
        return std::nullopt;
    }
};

class PlainLayout final : public Layout {
public:
    std::string key_of(std::string_view resource) const override { return std::string(resource); }
    std::optional<std::string> objection_to(std::string_view resource) const override {
        const bool fits =
            resource.size() <= longest_key && std::ranges::all_of(resource, may_stand);
        if (fits) return std::nullopt;
        return "with layout=plain a name is memcached's key as it is, and that has at most " +
               std::to_string(longest_key) +
               " bytes, none of them a space or a control character; choose another name";
    }

private:
    static bool may_stand(char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte > ' ' && byte != 0x7f;
    }
};

/// As many as the value of an item of ours has; nothing when there are more or fewer.
std::optional<std::array<std::string_view, words_in_value>> words_of(std::string_view value) {
    std::array<std::string_view, words_in_value> words;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool last = i + 1 == words.size();
        const std::size_t end = last ? value.size() : value.find(' ');
        if (end == std::string_view::npos) return std::nullopt;
        words[i] = value.substr(0, end);
        value.remove_prefix(last ? end : end + 1);
    }
    return words;
}

std::string unescaped(std::string_view word) {
    return scripted::unescaped(word, Digits::lower).value_or("");
}

int number_in(std::string_view digits) {
    int number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

}  // namespace

std::unique_ptr<Layout> holdfast_layout() {
    return std::make_unique<HoldfastLayout>();
}

std::unique_ptr<Layout> plain_layout() {
    return std::make_unique<PlainLayout>();
}

std::unique_ptr<Layout> layout_of(const StoreUrl& url) {
    const std::string name = url.text("layout").value_or("holdfast");
    if (name == "holdfast") return holdfast_layout();
    if (name == "plain") return plain_layout();
    net::refuse(url, "there is no layout '" + name + "'; it is holdfast or plain");
}

std::string value_of(const Contender& contender) {
    std::string value;
    value.reserve(64 + contender.host.size() + contender.owner.size());
    value.append(our_mark);
    value.append(" ").append(scripted::hex_of(contender.nonce));
    value.append(" ").append(std::to_string(contender.pid)).append(" ");
    scripted::append_escaped(contender.host, Digits::lower, value);
    value.append(" ");
    scripted::append_escaped(contender.owner, Digits::lower, value);
    return value;
}

std::string value_at(Deed deed, std::string value) {
    return std::move(value.append(" ").append(word_of(deed)));
}

std::optional<Nonce> nonce_in(std::string_view value) {
    const auto words = words_of(value);
    if (!words || words->at(0) != our_mark) return std::nullopt;
    const auto nonce = scripted::nonce_of(words->at(1));
    // Nobody's: a foreign one's ticket has it.
    return nonce == Nonce{} ? std::nullopt : nonce;
}

Deed deed_in(std::string_view value) {
    const auto words = words_of(value);
    return words && words->back() == word_of(Deed::kept) ? Deed::kept : Deed::made;
}

Identity identity_of(const Contender& contender, const Layout& layout) {
    return {contender.resource, contender.nonce, layout.key_of(contender.resource),
            value_of(contender)};
}

namespace {

/// The place of a foreign one, whose value may be anything, also nothing.
std::string foreign_place(const Version& version, std::string_view value) {
    return std::to_string(version.cas)
        .append(" ")
        .append(std::to_string(version.connection))
        .append(" ")
        .append(value);
}

std::uint64_t take_number(std::string_view& words) {
    std::uint64_t number = 0;
    std::from_chars(words.data(), words.data() + words.size(), number);
    words.remove_prefix(std::min(words.find(' '), words.size() - 1) + 1);
    return number;
}

}  // namespace

Identity identity_of(const Ticket& ticket, const Layout& layout) {
    Identity who{ticket.resource, ticket.nonce, layout.key_of(ticket.resource), ticket.place};
    if (ticket.nonce != Nonce{} || ticket.place.empty()) return who;
    std::string_view place = ticket.place;
    Version& seen = who.seen.emplace();
    seen.cas = take_number(place);
    seen.connection = take_number(place);
    who.value = place;
    return who;
}

bool is_of(std::string_view value, const Version& version, const Identity& who) {
    if (!who.seen) return nonce_in(value) == who.nonce;
    const bool same = version.cas == who.seen->cas && version.connection == who.seen->connection;
    return same && value == who.value;
}

Place place_in(const std::string& resource, std::string_view value, const Version& version) {
    const auto nonce = nonce_in(value);
    Place place{.ticket = {resource, nonce.value_or(Nonce{}),
                           nonce ? std::string(value) : foreign_place(version, value)},
                .owner = {},
                .weight = all,
                .foreign = !nonce};
    if (!nonce) return place;
    const auto words = *words_of(value);
    place.pid = number_in(words[2]);
    place.host = unescaped(words[3]);
    place.owner = unescaped(words[4]);
    return place;
}

}  // namespace holdfast::inline v0::memcached
