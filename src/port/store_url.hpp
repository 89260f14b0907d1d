#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/export.hpp>
#include <holdfast/options.hpp>

namespace holdfast::inline v0 {

/// One server of a store.
struct Host {
    std::string name;
    std::optional<std::uint16_t> port;

    bool operator==(const Host&) const = default;
};

/// A store's URL, taken apart and percent-decoded:
///     scheme://user:password@host:port,host:port/path?parameter=value&...
///     scheme:path?parameter=value&...
/// Only the syntax is checked here; which parts and parameters mean something, the scheme says.
struct HOLDFAST_EXPORT StoreUrl {
    std::string scheme;
    std::string user;
    std::string password;
    std::vector<Host> hosts;
    std::string path;
    std::map<std::string, std::string, std::less<>> parameters;
    /// As it was given, without the password: for messages, listings and the environment.
    std::string shown;

    /// Put before every name: the parameter `prefix`, or else this. The layouts of others have
    /// another default: see open_store().
    static constexpr std::string_view default_prefix = "holdfast/";
    /// The parameter that is `user:password`, and never shown.
    static constexpr std::string_view secret_parameter = "auth";
    std::string prefix() const;

    /// A parameter that is a time, such as 500ms, 2s, 5m or 1h; a bare number is seconds.
    /// Throws Error with errc::bad_configuration when it is none, or nought.
    std::optional<std::chrono::milliseconds> duration(std::string_view parameter) const;

    /// The text of a parameter, if it was given.
    std::optional<std::string> text(std::string_view parameter) const;

    /// Adds what is said elsewhere. Throws Error with errc::bad_configuration when it is in the URL
    /// too.
    void complete(const ConnectionOptions& connection);

    /// For a store that has no server: throws Error with errc::bad_configuration when the URL names
    /// one, and says in which form it should be.
    void refuse_server(std::string_view form) const;
};

/// Throws Error with errc::bad_configuration; the sentence never has any part of what may be a
/// password, also when the URL could not be understood.
StoreUrl parse_store_url(std::string_view url);

}  // namespace holdfast::inline v0
