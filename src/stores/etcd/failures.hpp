#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>

#include "port/failure.hpp"
#include "stores/etcd/members.hpp"

namespace holdfast::inline v0::etcd {

/// What becomes of a request that was not served.
enum class CallRefusal : std::uint8_t {
    none,             ///< it was
    unserved,         ///< another member may do it
    token_over,       ///< the user has to be proved again
    no_authority,     ///< a user was given to an etcd that knows none
    denied,           ///< this user may not use that key
    lease_not_found,  ///< the lease that it names is over
    final,            ///< it would be refused by everybody
};
CallRefusal refusal_of(const grpc::Status& status);

/// Whether a member says so itself: it is there, but cannot serve just now, as in an election.
bool is_of_member(const grpc::Status& status);

/// Whether it never reached a member.
bool is_unsent(const grpc::Status& status);

/// Whether a server is there, and trying again cannot mend what is wrong with it, or with us: a
/// certificate, say.
bool is_hopeless(const grpc::Status& status);

/// That leaders changed for as long as a request may take.
Failure unproved(const Cluster& cluster);
/// In a sentence. The effect is none.
Failure failure_of(const grpc::Status& status, const Cluster& cluster);

}  // namespace holdfast::inline v0::etcd
