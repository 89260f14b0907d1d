#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::inline v0 {

class Observer;

/// Who comes first. `fifo` admits in line order; `barging` lets a newcomer take a free resource,
/// which is faster under contention and can starve a waiter.
enum class Fairness : std::uint8_t { fifo, barging };

/// How a lock behaves. All users of one resource must agree on capacity and fairness.
struct LockOptions {
    /// How long the store keeps a contender without hearing of it: 100 ms to 24 h, and what the
    /// store grants. Unset: 30 s, or the longest that the store grants.
    std::optional<std::chrono::milliseconds> lease = std::nullopt;
    /// Unset: the store's own. What the store cannot do is refused when the lock is made.
    std::optional<Fairness> fairness = std::nullopt;
    /// Who asks, as listings show it and as `reenter` compares it. Empty: the client's own.
    std::string owner = {};
    /// Join a hold that the same owner has already, in whichever process: same fence, no added
    /// weight. Set it only where parallel users of one owner need not exclude each other.
    bool reenter = false;
    /// Refuse a store whose holds have no fence (memcached), instead of a hold with fence 0.
    bool fenced = false;
};

/// What else it takes to reach a store, for whoever keeps it elsewhere than in a URL. What is set
/// here must not stand in the URL too, and what the store's URL could not say is refused.
struct ConnectionOptions {
    std::optional<std::string> user = std::nullopt;
    std::optional<std::string> password = std::nullopt;
    // Files, in PEM format.
    std::optional<std::string> tls_ca = std::nullopt;
    std::optional<std::string> tls_cert = std::nullopt;
    std::optional<std::string> tls_key = std::nullopt;
    std::optional<std::chrono::milliseconds> connect_timeout = std::nullopt;
    std::optional<std::chrono::milliseconds> request_timeout = std::nullopt;
};

/// How a client behaves.
struct ClientOptions {
    /// The owner of all locks that name none. Empty: `host:pid:random`.
    std::string owner = {};
    /// Told of what happens, for logs and metrics.
    std::shared_ptr<Observer> observer = nullptr;
    ConnectionOptions connection = {};
};

}  // namespace holdfast::inline v0
