#pragma once

#include <functional>
#include <memory>

#include "stores/zookeeper/protocol.hpp"

namespace holdfast::inline v0::zookeeper {

/// The end of one incarnation of a node whose name another one may have next: the resource's own,
/// with barging. It is deleted only after a look that has shown it, and after a lost connection
/// only after another look: a deletion that is repeated blindly would hit whoever came next.
///
///     sync, look ──▶ it is the same ──▶ delete ──▶ answered
///         ▲                                └── the connection broke ──┐
///         └───────────────────────────────────────────────────────────┘
class Ending : public std::enable_shared_from_this<Ending> {
public:
    using Ended = std::function<void(Protocol&, Result<Standing>)>;

    /// Of a node of the session of that term, or of another client's.
    Ending(const Protocol& protocol, Term term, Incarnation place, Ended ended);

    void start(Protocol& protocol) { look(protocol); }

private:
    void look(Protocol& protocol);
    void looked(Protocol& protocol, const Answer& answer);
    void remove(Protocol& protocol, Moment limit);
    void removed(Protocol& protocol, const Answer& answer);
    void gone(Protocol& protocol);

    const Term term_;
    const Incarnation place_;
    const Ended ended_;
    const Moment deadline_;
    bool tried_ = false;  ///< an earlier deletion may have done it
};

}  // namespace holdfast::inline v0::zookeeper
