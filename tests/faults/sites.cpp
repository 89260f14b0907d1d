#include "faults/sites.hpp"

#include <random>

#include "stores/open_store.hpp"

namespace holdfast::test {
namespace {

std::string with(const std::string& url, const std::string& parameters) {
    if (parameters.empty()) return url;
    return url + (url.find('?') == std::string::npos ? "?" : "&") + parameters;
}

std::string here(int port) {
    return "127.0.0.1:" + std::to_string(port);
}

}  // namespace

// --- a site --------------------------------------------------------------------------------------

Site::Site(ServerProcess& server, int port, MakeProtocol protocol)
    : server_(server), port_(port), network_(port, protocol) {}

std::string Site::url(const std::string& parameters) const {
    return with(url_at(server_.address()), parameters);
}

std::string Site::url_behind(const std::string& parameters) const {
    return with(url_at(here(network_.port())), parameters);
}

std::string Site::secure_url(const std::string& host, const std::string& parameters) const {
    return with(secure_url_at(host + ":" + std::to_string(port_)), parameters);
}

std::string Site::secure_url_behind(const std::string& parameters) const {
    return with(secure_url_at(here(network_.port())), parameters);
}

WhichRequests Site::asking(SeenVerb verb) const {
    return [this, verb](std::string_view request) { return is(verb, request); };
}

std::string Site::leftovers() const {
    std::string found;
    for (const ResourceInfo& line : connect(url()).inspect()) found += line.name + " ";
    return found;
}

// --- the list ------------------------------------------------------------------------------------

std::vector<StoreAtSite> stores_at_sites() {
    using namespace std::chrono_literals;
    return {
#ifdef HOLDFAST_STORE_REDIS
        {.name = "redis", .make = make_redis_site, .knows_its_like = true, .pushes = true},
        {.name = "redis_plain",
         .make = make_plain_redis_site,
         .has_line = false,
         .knows_its_like = true},
        {.name = "redisson", .make = make_redisson_site, .has_line = false, .knows_its_like = true},
#endif
#ifdef HOLDFAST_STORE_POSTGRES
        {.name = "postgres", .make = make_postgres_site, .knows_its_like = true, .pushes = true},
#endif
#ifdef HOLDFAST_STORE_MYSQL
        {.name = "mysql", .make = make_mysql_site, .knows_its_like = true},
#endif
#ifdef HOLDFAST_STORE_ZOOKEEPER
        {.name = "zookeeper",
         .make = make_zookeeper_site,
         .brief = 1s,
         .runs_our_code = false,
         .takes_late_requests = false,
         .sees_whole_line = true,
         .fences_by_clock = false,
         .knows_its_like = true,
         .pushes = true},
#endif
#ifdef HOLDFAST_STORE_ETCD
        {.name = "etcd",
         .make = make_etcd_site,
         .brief = 2s,
         .runs_our_code = false,
         .asks_libc_for_names = false,
         .grants_with_enter = false,
         .fences_by_clock = false},
#endif
    };
}

std::vector<StoreAtSite> stores_at_sites(bool StoreAtSite::*promise) {
    auto some = stores_at_sites();
    std::erase_if(some, [&](const StoreAtSite& store) { return !(store.*promise); });
    return some;
}

std::vector<StoreAtSite> stores_at_sites(bool (*are_meant)(const StoreAtSite&)) {
    auto some = stores_at_sites();
    std::erase_if(some, [&](const StoreAtSite& store) { return !are_meant(store); });
    return some;
}

// --- a trap --------------------------------------------------------------------------------------

std::shared_ptr<Store> Trap::port(const std::string& parameters) const {
    return open_store(site_->url_behind(parameters)).store;
}

Contender Trap::contender(const std::string& name) const {
    static std::mt19937_64 random{std::random_device{}()};
    Contender one{.resource = prefix_in_store(site_->url()) + name,
                  .nonce = {},
                  .owner = "somebody",
                  .lease = *long_lived().lease};
    for (auto& byte : one.nonce.bytes) byte = static_cast<std::byte>(random());
    return one;
}

std::vector<std::uint64_t> Trap::holders(const std::string& name) const {
    std::vector<std::uint64_t> fences;
    if (const auto line = watcher_.look_at(name)) {
        for (const auto& holder : line->holders) fences.push_back(holder.fence);
    }
    return fences;
}

std::vector<std::string> Trap::waiters(const std::string& name) const {
    std::vector<std::string> owners;
    if (const auto line = watcher_.look_at(name)) {
        for (const auto& waiter : line->waiters) owners.push_back(waiter.owner);
    }
    return owners;
}

void Trap::land() const {
    const auto before = network().late_replies();
    network().let_pass();
    if (!GetParam().takes_late_requests) return;
    ASSERT_TRUE(await([&] { return network().late_replies() > before; })) << "it did not come";
}

void Trap::expect_free(const std::string& name) const {
    EXPECT_TRUE(await([&] { return site_->leftovers().empty(); })) << site_->leftovers();
    const auto next = rival().mutex(name).try_acquire();
    EXPECT_TRUE(next) << "something of it is left in line";
}

}  // namespace holdfast::test
