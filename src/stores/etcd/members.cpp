#include "stores/etcd/members.hpp"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::etcd {

namespace {

/// Members notice the loss of their leader after the time of an election, a second usually.
constexpr std::chrono::milliseconds unnoticed{100};

/// Servers end a connection on which they are asked more often than every five seconds whether it
/// lives.
constexpr int ping_interval_ms = 10'000;
/// For whole lines of waiters; gRPC's own limit is 4 MiB.
constexpr int largest_answer = 64 << 20;

/// A number needs no resolver.
std::string target_of(const net::Address& member) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    const std::string port = ":" + std::to_string(member.port);
    if (inet_pton(AF_INET, member.host.c_str(), ignored.data()) == 1) {
        return "ipv4:" + member.host + port;
    }
    if (inet_pton(AF_INET6, member.host.c_str(), ignored.data()) == 1) {
        return "ipv6:[" + member.host + "]" + port;
    }
    return "dns:///" + member.host + port;
}

std::string content_of(const net::Address& member, const std::string& path,
                       std::string_view parameter) {
    if (path.empty()) return {};
    std::ifstream file(path, std::ios::binary);
    std::string content(std::istreambuf_iterator<char>(file), {});
    if (!file || content.empty()) {
        throw Error(errc::bad_configuration, member.shown() + ": " + std::string(parameter) + " '" +
                                                 path +
                                                 "' cannot be read; check its name and rights");
    }
    return content;
}

std::shared_ptr<grpc::ChannelCredentials> credentials_for(const net::Address& member) {
    if (member.reach != net::Address::Reach::tls) return grpc::InsecureChannelCredentials();
    return grpc::SslCredentials(
        {.pem_root_certs = content_of(member, member.tls_ca, "tls_ca"),
         .pem_private_key = content_of(member, member.tls_key, "tls_key"),
         .pem_cert_chain = content_of(member, member.tls_cert, "tls_cert")});
}

}  // namespace

Cluster cluster_of(const StoreUrl& url) {
    if (!url.path.empty() && url.path != "/") {
        net::refuse(url,
                    "a path after the hosts means nothing to etcd; what is to stand before every "
                    "name is the parameter prefix");
    }
    Cluster cluster;
    cluster.user = net::user_of(url);
    net::read_servers(url, "etcd", 2379, cluster);
    return cluster;
}

Access::Access(const net::Address& member)
    : member_(member), credentials_(credentials_for(member)) {}

std::shared_ptr<grpc::Channel> Access::connect() const {
    const auto connect_timeout = static_cast<int>(member_.connect_timeout.count());
    grpc::ChannelArguments arguments;
    // Two clients in one process share nothing: the one that waits reads, and reads for itself.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // Neither the environment nor the name service has a say in where the locks are.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    // What is tried again, and when, is the wire's business.
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, connect_timeout);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ping_interval_ms);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, connect_timeout);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetMaxReceiveMessageSize(largest_answer);
    return grpc::CreateCustomChannel(target_of(member_), credentials_, arguments);
}

Members::Members(const Cluster& cluster) : current_(cluster.any()) {
    for (const net::Address& member : cluster.servers) {
        Access access(member);
        auto channel = access.connect();
        members_.push_back({std::move(access), std::move(channel)});
    }
}

void Members::failed(std::uint64_t route, Moment now) {
    if (route != route_) return;
    ++route_;
    current_ = (current_ + 1) % members_.size();
    led_at_ = {};
    if (++failed_in_row_ % members_.size() == 0) backoff_.failed(now);
}

void Members::silent(std::uint64_t route, Moment now) {
    if (route != route_) return;
    members_[current_].channel = members_[current_].access.connect();
    failed(route, now);
}

void Members::answered() noexcept {
    if (failed_in_row_ == 0) return;
    failed_in_row_ = 0;
    backoff_.succeeded();
}

void Members::served(std::uint64_t route, Moment sent) noexcept {
    if (route == route_) led_at_ = std::max(led_at_, sent);
}

bool Members::has_leader(Moment now) const noexcept {
    return now < led_at_ + unnoticed;
}

}  // namespace holdfast::inline v0::etcd
