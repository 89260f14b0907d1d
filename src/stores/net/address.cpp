#include "stores/net/address.hpp"

#include <holdfast/error.hpp>

namespace holdfast::inline v0::net {

std::string Address::shown() const {
    if (reach == Reach::unix_socket) return kind + " " + host;
    const bool bare = host.find(':') == std::string::npos;
    return kind + " " + (bare ? host : "[" + host + "]") + ":" + std::to_string(port);
}

void read_tls(const StoreUrl& url, Address& address) {
    address.tls_ca = url.text("tls_ca").value_or("");
    address.tls_cert = url.text("tls_cert").value_or("");
    address.tls_key = url.text("tls_key").value_or(address.tls_cert);
    if (address.tls_cert.empty() && !address.tls_key.empty()) {
        throw Error(errc::bad_configuration,
                    url.shown + ": it gives a tls_key without a tls_cert; give both");
    }
}

void read_timeouts(const StoreUrl& url, Address& address) {
    address.connect_timeout = url.duration("connect_timeout").value_or(address.connect_timeout);
    address.request_timeout = url.duration("request_timeout").value_or(address.request_timeout);
}

}  // namespace holdfast::inline v0::net
