#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "stores/zookeeper/ensemble.hpp"

namespace holdfast::inline v0::zookeeper {

/// The enters that went out more than once, or may yet arrive: their copies are looked for until
/// the session, which they belong to, could not have them any more.
/// Threads: all members may be called from any thread.
class Doubts {
public:
    struct Doubt {
        Term term{};       ///< of the session that it went out with
        std::string path;  ///< of the resource
    };

    /// `session` is how long that session may last, as it was granted; 0: there is none yet.
    void add(const Nonce& nonce, Doubt doubt, Moment now, std::chrono::milliseconds session);
    /// Of the session that its enter went out with; nothing when it is not doubted.
    std::optional<Term> term_of(const Nonce& nonce) const;
    bool contains(const Nonce& nonce) const { return term_of(nonce).has_value(); }

    /// Those whose copies are to be looked for now. What is over is not doubted any more, unless it
    /// stays.
    std::vector<std::pair<Nonce, Doubt>> take_due(Moment now,
                                                  const std::function<bool(const Nonce&)>& stays);

    /// An enter with this nonce that still comes is to be refused.
    void bury(const Nonce& nonce, Moment now);
    bool is_buried(const Nonce& nonce) const;

private:
    struct Kept {
        Doubt doubt;
        Moment next;
        Moment until;
    };
    mutable std::mutex mutex_;
    std::map<Nonce, Kept> doubts_;
    std::map<Nonce, Moment> buried_;
};

}  // namespace holdfast::inline v0::zookeeper
