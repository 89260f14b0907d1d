#pragma once

#include <future>
#include <memory>
#include <set>
#include <string>

#include "port/store.hpp"
#include "stores/memcached/servers.hpp"
#include "stores/net/resolver.hpp"

namespace holdfast::inline v0::memcached {

inline Finding best_effort() {
    return {.severity = Severity::warning,
            .name = "memcached.best_effort",
            .fact = "memcached keeps a lock in its memory alone, and gives no fence",
            .consequence =
                "a server that is started again, evicts the item or is flushed lets two "
                "hold until the first is told, and nothing tells them apart",
            .remedy =
                "another store where what is guarded must not be done twice; else room "
                "enough (-m), and -o temporary_ttl=N with N above the leases in seconds"};
}

/// The kinds of addresses that its name has; none when that is not found in time.
inline std::set<int> kinds_of(const net::Address& server) {
    const auto found = std::make_shared<std::promise<void>>();
    const net::Resolution resolution(server, [found] { found->set_value(); });
    if (!resolution.result()) found->get_future().wait_for(server.connect_timeout);
    std::set<int> kinds;
    const auto result = resolution.result();
    if (!result || !result->ok()) return kinds;
    for (const net::Endpoint& endpoint : result->value()) kinds.insert(endpoint.storage.ss_family);
    return kinds;
}

inline Finding two_kinds(const net::Address& server) {
    return {.severity = Severity::advice,
            .name = "memcached.addresses",
            .fact = server.shown() + ": its name has an address of IPv4 and one of IPv6",
            .consequence =
                "if these are two servers, or one client reaches it by the one and the "
                "next client something else by the other, two hold",
            .remedy =
                "name the one address that all are to use, or make sure that both lead to "
                "one server"};
}

/// What nobody should have to find out by himself. The servers need not be asked for it: none can
/// be set up so that it is otherwise. Their names are looked up.
inline Examination examine(const Servers& servers) {
    Examination examination{.findings = {best_effort()}};
    for (const net::Address& server : servers.servers) {
        if (kinds_of(server).size() > 1) examination.findings.push_back(two_kinds(server));
    }
    return examination;
}

}  // namespace holdfast::inline v0::memcached
