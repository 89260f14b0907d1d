#include "stores/open_store.hpp"

#include <algorithm>
#include <vector>

#include <holdfast/error.hpp>

#include "port/store_url.hpp"
#include "stores/entrances.hpp"

#ifdef HOLDFAST_STORE_MYSQL
#include "stores/mysql/mysql_scripts.hpp"
#endif
#ifdef HOLDFAST_STORE_POSTGRES
#include "stores/postgres/postgres_scripts.hpp"
#include "stores/postgres/schema_name.hpp"
#endif

namespace holdfast::inline v0 {
namespace {

using Names = std::vector<std::string_view>;

/// One line of the table: what a scheme is called, what opens it, and what its URL may say.
struct Scheme {
    std::string_view name;
    std::shared_ptr<Store> (*open)(const StoreUrl& url);
    Names parameters;  ///< besides common_parameters()
    /// Values of `layout` that others use too: there a name is theirs as it stands, and no prefix
    /// is put before it unless it is asked for.
    Names layouts_of_others = {};
    /// What it needs in a database, and with the layout of others.
    std::string_view schema = {};
    std::string_view schema_of_others = {};
    /// What is said before it.
    std::string (*schema_starts)(const StoreUrl& url) = nullptr;
};

Names common_parameters() {
    return {"prefix", "connect_timeout", "request_timeout"};
}

std::string joined(const Names& names) {
    std::string result;
    for (const std::string_view name : names) {
        if (!result.empty()) result += ", ";
        result += name;
    }
    return result;
}

[[noreturn]] void refuse(const std::string& sentence) {
    throw Error(errc::bad_configuration, sentence);
}

/// The one place where a scheme meets its store.
std::vector<Scheme> schemes() {
    return {
#ifdef HOLDFAST_STORE_LOCAL
        {"local", open_local, {"mode"}},
#endif
#ifdef HOLDFAST_STORE_MEMORY
        {"memory", open_memory, {}},
#endif
#ifdef HOLDFAST_STORE_REDIS
        {"redis",
         open_redis,
         {"layout", "password_file", "replicas", "watchdog"},
         {"plain", "redisson"}},
        {"rediss",
         open_redis,
         {"layout", "password_file", "replicas", "watchdog", "tls_ca", "tls_cert", "tls_key"},
         {"plain", "redisson"}},
        {"redis+unix",
         open_redis,
         {"layout", "password_file", "replicas", "watchdog"},
         {"plain", "redisson"}},
        {"redis+sentinel",
         open_redis,
         {"layout", "password_file", "replicas", "sentinel_password_file", "sentinel_user",
          "watchdog"},
         {"plain", "redisson"}},
        {"rediss+sentinel",
         open_redis,
         {"layout", "password_file", "replicas", "sentinel_password_file", "sentinel_user",
          "watchdog", "tls_ca", "tls_cert", "tls_key"},
         {"plain", "redisson"}},
        {"redis+cluster", open_redis, {"layout", "password_file", "replicas"}},
        {"rediss+cluster",
         open_redis,
         {"layout", "password_file", "replicas", "tls_ca", "tls_cert", "tls_key"}},
#endif
#ifdef HOLDFAST_STORE_REDLOCK
        {"redlock", open_redlock, {"max_lease", "set", "password_file"}},
        {"redlocks",
         open_redlock,
         {"max_lease", "set", "password_file", "tls_ca", "tls_cert", "tls_key"}},
#endif
#ifdef HOLDFAST_STORE_ZOOKEEPER
        {"zookeeper", open_zookeeper, {"auth", "password_file", "tick"}},
        {"zookeepers",
         open_zookeeper,
         {"auth", "password_file", "tick", "tls_ca", "tls_cert", "tls_key"}},
#endif
#ifdef HOLDFAST_STORE_ETCD
        {"etcd", open_etcd, {"password_file"}},
        {"etcds", open_etcd, {"password_file", "tls_ca", "tls_cert", "tls_key"}},
#endif
#ifdef HOLDFAST_STORE_MEMCACHED
        {"memcached", open_memcached, {"layout", "password_file"}, {"plain"}},
        {"memcacheds",
         open_memcached,
         {"layout", "password_file", "tls_ca", "tls_cert", "tls_key"},
         {"plain"}},
#endif
#ifdef HOLDFAST_STORE_MYSQL
        {"mysql",
         open_mysql,
         {"layout", "password_file", "tls", "tls_ca", "tls_cert", "tls_key", "zone"},
         {"shedlock"},
         mysql::scripts::schema,
         mysql::scripts::schema_shedlock},
#endif
#ifdef HOLDFAST_STORE_POSTGRES
        {"postgres",
         open_postgres,
         {"layout", "password_file", "schema", "tls", "tls_ca", "tls_cert", "tls_key"},
         {"shedlock"},
         postgres::scripts::schema,
         postgres::scripts::schema_shedlock,
         postgres::choice_of_schema},
#endif
    };
}

Scheme scheme_of(const StoreUrl& url) {
    Names known;
    for (const Scheme& scheme : schemes()) {
        if (scheme.name == url.scheme) return scheme;
        known.push_back(scheme.name);
    }
    refuse("unknown scheme '" + url.scheme +
           "' in the store's URL; this build knows: " + joined(known));
}

void check_parameters(const StoreUrl& url, const Scheme& scheme) {
    Names known = common_parameters();
    known.insert(known.end(), scheme.parameters.begin(), scheme.parameters.end());
    for (const auto& [name, value] : url.parameters) {
        if (std::ranges::find(known, name) != known.end()) continue;
        refuse(url.shown + ": unknown parameter '" + name + "'; " + url.scheme +
               ": knows: " + joined(known));
    }
    // Checked also where they change nothing: a store without a server has no connection to time.
    static_cast<void>(url.duration("connect_timeout"));
    static_cast<void>(url.duration("request_timeout"));
}

StoreUrl parse_or_default(std::string_view url) {
    return parse_store_url(url.empty() ? "local:" : url);
}

Scheme checked_scheme_of(const StoreUrl& url) {
    Scheme scheme = scheme_of(url);
    check_parameters(url, scheme);
    return scheme;
}

bool has_layout_of_others(const StoreUrl& url, const Scheme& scheme) {
    const auto layout = url.text("layout");
    return layout &&
           std::ranges::find(scheme.layouts_of_others, *layout) != scheme.layouts_of_others.end();
}

std::string prefix_of(const StoreUrl& url, const Scheme& scheme) {
    return has_layout_of_others(url, scheme) ? url.text("prefix").value_or("") : url.prefix();
}

}  // namespace

std::string schema_of_store(std::string_view url) {
    const StoreUrl parsed = parse_or_default(url);
    const Scheme scheme = checked_scheme_of(parsed);
    std::string text = scheme.schema_starts != nullptr ? scheme.schema_starts(parsed) : "";
    return text += has_layout_of_others(parsed, scheme) ? scheme.schema_of_others : scheme.schema;
}

std::string prefix_in_store(std::string_view url) {
    const StoreUrl parsed = parse_or_default(url);
    return prefix_of(parsed, checked_scheme_of(parsed));
}

OpenedStore open_store(std::string_view url, const ConnectionOptions& connection) {
    StoreUrl parsed = parse_or_default(url);
    parsed.complete(connection);
    const Scheme scheme = checked_scheme_of(parsed);
    return {.store = scheme.open(parsed), .prefix = prefix_of(parsed, scheme), .url = parsed.shown};
}

}  // namespace holdfast::inline v0
