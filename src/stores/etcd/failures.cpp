#include "stores/etcd/failures.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "stores/net/secret.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using grpc::StatusCode;

struct Meaning {
    std::string_view said;  ///< by etcd, after "etcdserver: "
    errc code;
    std::string_view sentence;
};

constexpr std::array meanings{
    Meaning{"authentication failed", errc::bad_configuration,
            "it refuses this user and password; check both"},
    Meaning{"permission denied", errc::bad_configuration,
            "this user may not use these keys; grant it a role that reads and writes all that "
            "begins with the prefix"},
    Meaning{"user name is empty", errc::bad_configuration,
            "it wants to know who asks; give a user and password, as "
            "etcd://user:password@host"},
    Meaning{"user name not found", errc::bad_configuration, "it does not know this user; check it"},
    Meaning{"invalid auth token", errc::bad_configuration,
            "it does not take the token that it gave us; check its --auth-token"},
    Meaning{"too large lease TTL", errc::invalid_argument, "it does not grant so long a lease"},
    Meaning{"request is too large", errc::invalid_argument,
            "the request is larger than it takes; use a shorter name or owner"},
    Meaning{"mvcc: database space exceeded", errc::unreachable,
            "its database is full and takes no more keys; compact it, defragment it, and disarm "
            "the alarm (etcdctl alarm disarm)"},
    Meaning{"too many requests", errc::unreachable,
            "it has more requests than it can serve; try again in a moment"},
};

/// What gRPC says of servers that would say the same again. One that merely hangs up is not among
/// them.
constexpr std::array hopeless{
    std::string_view{"certificate verify failed"}, std::string_view{"CERTIFICATE_VERIFY_FAILED"},
    std::string_view{"wrong version number"},      std::string_view{"WRONG_VERSION_NUMBER"},
    std::string_view{"alert unknown ca"},          std::string_view{"alert bad certificate"},
    std::string_view{"alert handshake failure"},   std::string_view{"alert certificate required"},
    std::string_view{"Failed parsing HTTP/2"},
};

bool says(const grpc::Status& status, std::string_view what) {
    return status.error_message().find(what) != std::string::npos;
}

/// What a handshake that failed has to do with the settings.
bool is_about_tls(const grpc::Status& status) {
    return says(status, "SSL") || says(status, "handshake") || says(status, "ertificate") ||
           says(status, "security");
}

}  // namespace

CallRefusal refusal_of(const grpc::Status& status) {
    switch (status.error_code()) {
        case StatusCode::OK:
            return CallRefusal::none;
        case StatusCode::UNAUTHENTICATED:
            return CallRefusal::token_over;
        case StatusCode::PERMISSION_DENIED:
            return CallRefusal::denied;
        case StatusCode::INVALID_ARGUMENT:
            return says(status, "revision of auth store is old") ||
                           says(status, "user name is empty")
                       ? CallRefusal::token_over
                       : CallRefusal::final;
        case StatusCode::NOT_FOUND:
            return says(status, "lease") ? CallRefusal::lease_not_found : CallRefusal::final;
        case StatusCode::FAILED_PRECONDITION:
            if (says(status, "authentication is not enabled")) return CallRefusal::no_authority;
            return says(status, "not leader") || says(status, "for learner") ? CallRefusal::unserved
                                                                             : CallRefusal::final;
        case StatusCode::UNAVAILABLE:
        case StatusCode::CANCELLED:
        case StatusCode::DEADLINE_EXCEEDED:
        case StatusCode::UNKNOWN:
        case StatusCode::INTERNAL:
        case StatusCode::ABORTED:
            return CallRefusal::unserved;
        default:
            return CallRefusal::final;
    }
}

bool is_of_member(const grpc::Status& status) {
    return says(status, "etcdserver: ");
}

bool is_unsent(const grpc::Status& status) {
    return status.error_code() == StatusCode::UNAVAILABLE &&
           (says(status, "failed to connect") || says(status, "connections to all backends") ||
            says(status, "DNS resolution failed") || says(status, "empty address list"));
}

bool is_hopeless(const grpc::Status& status) {
    return is_unsent(status) &&
           std::ranges::any_of(hopeless, [&](auto what) { return says(status, what); });
}

Failure unproved(const Cluster& cluster) {
    return {errc::unreachable, Effect::none,
            cluster.shown() +
                ": its members change their leader again and again; check that they reach each "
                "other"};
}

Failure failure_of(const grpc::Status& status, const Cluster& cluster) {
    const std::string who = cluster.shown() + ": ";
    const std::string said = net::without_secret(status.error_message(), cluster.user.password);
    for (const Meaning& meaning : meanings) {
        if (!says(status, meaning.said)) continue;
        return {meaning.code, Effect::none, who + std::string(meaning.sentence)};
    }
    if (is_unsent(status)) {
        const bool tls = is_about_tls(status);
        return {errc::unreachable, Effect::none,
                who + "no member can be reached (" + said + "); check " +
                    (tls ? "the certificates (tls_ca, tls_cert, tls_key)"
                         : "that they run, and host and port")};
    }
    if (refusal_of(status) == CallRefusal::unserved && !is_of_member(status)) {
        return {errc::unreachable, Effect::none,
                who + "the connection broke (" + said + "); check its members"};
    }
    return {errc::unreachable, Effect::none, who + "it answered: " + said + "; check its members"};
}

}  // namespace holdfast::inline v0::etcd
