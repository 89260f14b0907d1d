#include "stores/zookeeper/failures.hpp"

#include <array>
#include <string>
#include <string_view>

namespace holdfast::inline v0::zookeeper {

namespace {

struct Meaning {
    Refusal refusal;
    errc code;
    std::string_view sentence;
};

constexpr std::array meanings{
    Meaning{Refusal::no_auth, errc::bad_configuration,
            "the access list of a node does not let us (NoAuth); give the user and password that "
            "made it, as ?auth=user:password"},
    Meaning{Refusal::auth_failed, errc::bad_configuration,
            "it refuses this user and password (AuthFailed); check auth"},
    Meaning{Refusal::invalid_acl, errc::bad_configuration,
            "it does not take our access list (InvalidACL); check auth"},
    Meaning{Refusal::unimplemented, errc::bad_configuration,
            "it does not know container nodes; holdfast needs ZooKeeper 3.5.1 or newer"},
    Meaning{Refusal::quota_exceeded, errc::unreachable,
            "a quota is used up; raise it, or choose another prefix"},
    Meaning{Refusal::throttled, errc::unreachable,
            "it has more requests than it can serve; try again in a moment"},
    Meaning{Refusal::no_children_for_ephemerals, errc::conflict,
            "a name that this one begins with is used with fairness barging, which allows no names "
            "below it; choose another name"},
};

}  // namespace

Failure leading_slash(const Ensemble& ensemble) {
    return {errc::invalid_argument, Effect::none,
            ensemble.shown() +
                ": the name begins with a slash; leave it out: with prefix= the name orders is the "
                "path /orders"};
}

Failure lease_too_long(std::chrono::milliseconds lease, std::chrono::milliseconds session,
                       const Ensemble& ensemble) {
    return {errc::invalid_argument, Effect::none,
            ensemble.shown() + ": a lease of " + std::to_string(lease.count()) +
                " ms; the longest session that it grants is " + std::to_string(session.count()) +
                " ms; shorten the lease, or raise maxSessionTimeout of the servers"};
}

Failure beyond_session(std::chrono::milliseconds lease, std::chrono::milliseconds session,
                       const Ensemble& ensemble) {
    return {errc::invalid_argument, Effect::none,
            ensemble.shown() + ": a lease cannot be lengthened to " +
                std::to_string(lease.count()) + " ms: its session, of " +
                std::to_string(session.count()) +
                " ms, was asked for by the lease that it was acquired with; acquire it with a "
                "longer one"};
}

Failure failure_of(Refusal refusal, const Ensemble& ensemble) {
    const std::string who = ensemble.shown() + ": ";
    for (const Meaning& meaning : meanings) {
        if (meaning.refusal != refusal) continue;
        return {meaning.code, Effect::none, who + std::string(meaning.sentence)};
    }
    return {errc::unreachable, Effect::unknown,
            who + "it answered with error " + std::to_string(static_cast<int>(refusal))};
}

}  // namespace holdfast::inline v0::zookeeper
