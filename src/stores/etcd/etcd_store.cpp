#include "stores/etcd/etcd_store.hpp"

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <cstdlib>

#include "stores/etcd/protocol.hpp"

namespace holdfast::inline v0::etcd {

namespace {

/// What went wrong is told to whoever asked, and not to standard error as well. Where somebody else
/// in this process uses gRPC, or has said what it is to say, that is left alone.
void keep_grpc_quiet() {
    if (grpc_is_initialized() == 0 && std::getenv("GRPC_VERBOSITY") == nullptr) {
        gpr_set_log_function([](gpr_log_func_args*) {});
    }
}

}  // namespace

std::shared_ptr<Store> open_etcd(const StoreUrl& url) {
    keep_grpc_quiet();
    const auto protocol = std::make_shared<Protocol>(cluster_of(url));
    protocol->connect(url.prefix());
    return listed::store_on(protocol);
}

}  // namespace holdfast::inline v0::etcd
