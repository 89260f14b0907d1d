#include "faults/sites.hpp"
#include "servers/etcd_server.hpp"
#include "support/proxy_protocol.hpp"

namespace holdfast::test {
namespace {

class EtcdSite final : ServerOfSite<EtcdServer>, public Site {
public:
    explicit EtcdSite(Serving serving)
        : ServerOfSite(serving, EtcdOptions{.tls = serving == Serving::by_tls}),
          Site(its_server_,
               serving == Serving::by_tls ? its_server_.tls_port() : its_server_.port(),
               http2_protocol) {
        its_server_.clear();
    }

    std::string url_at(const std::string& address) const override { return "etcd://" + address; }
    std::string secure_url_at(const std::string& address) const override {
        return "etcds://" + address;
    }
    bool is(SeenVerb verb, std::string_view request) const override {
        const auto seen = etcd_verb(request);
        switch (verb) {
            case SeenVerb::enter:
            case SeenVerb::enter_behind:
                return seen == EtcdVerb::enter;
            case SeenVerb::renew:
                return seen == EtcdVerb::keep_alive;
            case SeenVerb::leave:
            case SeenVerb::leave_before:
                return seen == EtcdVerb::leave;
        }
        return false;
    }
    std::string leftovers() const override {
        return its_server_.ctl({"get", "--prefix", "holdfast/orders/", "--keys-only"});
    }
    void delete_lock(const std::string& name) const override {
        its_server_.ctl({"del", "--prefix", "holdfast/" + name + "/"});
    }
};

}  // namespace

std::unique_ptr<Site> make_etcd_site(Serving serving) {
    return std::make_unique<EtcdSite>(serving);
}

}  // namespace holdfast::test
