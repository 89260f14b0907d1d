#include "port/store_url.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <tuple>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0 {
namespace {

[[noreturn]] void refuse_url(const std::string& sentence) {
    throw Error(errc::bad_configuration, sentence);
}

/// The URL's parts as they stand, before decoding. All but the scheme may hide a password in a URL
/// that was not encoded as it should be, so no message quotes them.
struct RawUrl {
    std::string_view scheme;
    std::string_view userinfo;
    std::string_view hosts;
    std::string_view path;
    std::string_view query;
};

/// "a:b" at ':' gives "a" and "b"; without a ':' it gives all and nothing.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char at) {
    const std::size_t found = text.find(at);
    if (found == std::string_view::npos) return {text, {}};
    return {text.substr(0, found), text.substr(found + 1)};
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool may_stand_in_scheme(char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-';
}

std::string_view scheme_of(std::string_view url) {
    const std::size_t colon = url.find(':');
    const std::string_view scheme = url.substr(0, colon);
    if (colon == std::string_view::npos || scheme.empty() || !is_letter(scheme.front()) ||
        !std::ranges::all_of(scheme, may_stand_in_scheme)) {
        refuse_url("the store's URL does not start with a scheme; write it as local:///folder");
    }
    return scheme;
}

/// Whether what follows the hosts may be part of a password: of one with an unencoded / in it, or
/// of a URL with a / too many or too few. Were it let pass, it would be shown as a path.
bool may_hide_password(std::string_view authority, std::string_view rest) {
    const std::size_t at = rest.rfind('@');
    return at != std::string_view::npos && (!authority.empty() || rest.find(':') < at);
}

RawUrl split(std::string_view url) {
    RawUrl raw;
    raw.scheme = scheme_of(url);
    std::string_view rest = url.substr(raw.scheme.size() + 1);
    std::string_view authority;
    if (rest.starts_with("//")) {
        rest.remove_prefix(2);
        authority = rest.substr(0, rest.find_first_of("/?"));
        rest.remove_prefix(authority.size());
    }
    const std::size_t at = authority.rfind('@');
    if (at == std::string_view::npos) {
        raw.hosts = authority;
    } else {
        raw.userinfo = authority.substr(0, at);
        raw.hosts = authority.substr(at + 1);
    }
    if (may_hide_password(authority, rest)) {
        refuse_url(std::string(raw.scheme) +
                   ": there is an @ in the store's URL where no user and no password can be; they "
                   "stand between // and the host; write / ? @ as %2F %3F %40 in a user's name, a "
                   "password, a path or a parameter");
    }
    std::tie(raw.path, raw.query) = cut(rest, '?');
    return raw;
}

int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string decoded(std::string_view text, std::string_view scheme) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            result += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            refuse_url(
                std::string(scheme) +
                ": the store's URL has a % without two hexadecimal digits behind it; write a "
                "plain % as %25");
        }
        result += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return result;
}

Host parse_host(std::string_view text, std::string_view scheme) {
    const bool bracketed = text.starts_with('[');
    const std::size_t end = bracketed ? text.find(']') : text.find(':');
    const std::string_view name =
        bracketed ? text.substr(1, end == std::string_view::npos ? end : end - 1)
                  : text.substr(0, end);
    if (name.empty() || (bracketed && end == std::string_view::npos)) {
        refuse_url(std::string(scheme) + ": the store's URL has a host without a name");
    }
    std::string_view rest = end == std::string_view::npos ? "" : text.substr(end);
    if (bracketed) rest.remove_prefix(1);
    Host host{.name = decoded(name, scheme), .port = std::nullopt};
    if (rest.empty()) return host;
    if (!rest.starts_with(':')) {
        refuse_url(std::string(scheme) +
                   ": what follows the ] of a host in the store's URL is not : and a port");
    }
    std::uint16_t port = 0;
    rest.remove_prefix(1);
    const auto [stopped, error] = std::from_chars(rest.data(), rest.data() + rest.size(), port);
    if (error != std::errc{} || stopped != rest.data() + rest.size() || port == 0) {
        refuse_url(std::string(scheme) +
                   ": what stands behind the : of a host in the store's URL is no port from 1 to "
                   "65535; a user and password stand before an @");
    }
    host.port = port;
    return host;
}

std::vector<Host> parse_hosts(std::string_view text, std::string_view scheme) {
    std::vector<Host> hosts;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        hosts.push_back(parse_host(text.substr(0, comma), scheme));
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
        if (text.empty())
            refuse_url(std::string(scheme) + ": the store's URL ends its hosts with a ,");
    }
    return hosts;
}

void parse_parameters(std::string_view query, StoreUrl& url) {
    while (!query.empty()) {
        const auto [parameter, others] = cut(query, '&');
        query = others;
        const auto [name, value] = cut(parameter, '=');
        if (name.empty())
            refuse_url(url.scheme + ": the store's URL has a parameter without a name");
        const bool fresh =
            url.parameters.emplace(decoded(name, url.scheme), decoded(value, url.scheme)).second;
        if (!fresh) {
            refuse_url(url.scheme + ": the store's URL gives the parameter " +
                       decoded(name, url.scheme) + " twice");
        }
    }
}

/// The query without the parameter that has a password in it.
std::string harmless(std::string_view query, std::string_view scheme) {
    std::string shown;
    while (!query.empty()) {
        const auto [parameter, others] = cut(query, '&');
        query = others;
        if (decoded(cut(parameter, '=').first, scheme) == StoreUrl::secret_parameter) continue;
        shown.append(shown.empty() ? "?" : "&").append(parameter);
    }
    return shown;
}

std::string without_password(std::string_view url, const RawUrl& raw) {
    const std::string query = harmless(raw.query, raw.scheme);
    if (raw.userinfo.empty()) return std::string(cut(url, '?').first) + query;
    const std::string_view behind_user(raw.hosts.data(), url.data() + url.size());
    const std::string_view user = cut(raw.userinfo, ':').first;
    std::string shown(raw.scheme);
    shown += "://";
    if (!user.empty()) shown.append(user).append("@");
    return shown.append(cut(behind_user, '?').first).append(query);
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

std::optional<std::chrono::milliseconds> unit_named(std::string_view name) {
    using namespace std::chrono_literals;
    if (name == "ms") return 1ms;
    if (name == "s" || name.empty()) return 1s;
    if (name == "m") return 1min;
    if (name == "h") return 1h;
    return std::nullopt;
}

}  // namespace

StoreUrl parse_store_url(std::string_view url) {
    const RawUrl raw = split(url);
    StoreUrl result;
    result.scheme = lower(raw.scheme);
    const auto [user, password] = cut(raw.userinfo, ':');
    result.user = decoded(user, result.scheme);
    result.password = decoded(password, result.scheme);
    result.hosts = parse_hosts(raw.hosts, result.scheme);
    result.path = decoded(raw.path, result.scheme);
    parse_parameters(raw.query, result);
    result.shown = without_password(url, raw);
    return result;
}

std::optional<std::string> StoreUrl::text(std::string_view parameter) const {
    const auto found = parameters.find(parameter);
    if (found == parameters.end()) return std::nullopt;
    return found->second;
}

std::string StoreUrl::prefix() const {
    return text("prefix").value_or(std::string(default_prefix));
}

std::optional<std::chrono::milliseconds> StoreUrl::duration(std::string_view parameter) const {
    const std::optional<std::string> given = text(parameter);
    if (!given) return std::nullopt;
    std::uint32_t count = 0;
    const char* const end = given->data() + given->size();
    const auto [stopped, error] = std::from_chars(given->data(), end, count);
    const auto unit = unit_named(std::string_view(stopped, end));
    if (error != std::errc{} || count == 0 || !unit) {
        refuse_url(shown + ": the parameter " + std::string(parameter) + " is '" + *given +
                   "'; give it a time such as 500ms, 2s or 1m");
    }
    return count * *unit;
}

void StoreUrl::complete(const ConnectionOptions& connection) {
    const auto refuse_twice = [this](std::string_view what) {
        refuse_url(shown + ": the store's URL and the connection options both say " +
                   std::string(what) + "; let one of them say it");
    };
    const auto add_text = [&](std::string_view name, const std::optional<std::string>& value) {
        if (!value) return;
        if (!parameters.emplace(name, *value).second) refuse_twice(name);
    };
    const auto add_time = [&](std::string_view name,
                              std::optional<std::chrono::milliseconds> value) {
        if (value) add_text(name, std::to_string(value->count()) + "ms");
    };
    if (connection.user) {
        if (!std::exchange(user, *connection.user).empty()) refuse_twice("the user");
    }
    if (connection.password) {
        const bool twice = !password.empty() || parameters.contains("password_file");
        password = *connection.password;
        if (twice) refuse_twice("the password");
    }
    add_text("tls_ca", connection.tls_ca);
    add_text("tls_cert", connection.tls_cert);
    add_text("tls_key", connection.tls_key);
    add_time("connect_timeout", connection.connect_timeout);
    add_time("request_timeout", connection.request_timeout);
}

void StoreUrl::refuse_server(std::string_view form) const {
    if (hosts.empty() && user.empty() && password.empty()) return;
    refuse_url(scheme + ": this store has no server, but its URL names one; write it as " +
               std::string(form));
}

}  // namespace holdfast::inline v0
