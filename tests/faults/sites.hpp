#pragma once

#include <holdfast/holdfast.hpp>

#include "faults/ambush.hpp"
#include "faults/server_faults.hpp"
#include "port/store.hpp"
#include "servers/server_process.hpp"
#include "support/fault_proxy.hpp"

/// Where each store is contended for: what the traps must know of its server.
namespace holdfast::test {

/// What is asked of a store, as it is seen on its way to the server. Where the store asks otherwise
/// while somebody holds the resource, or others wait for it, that has a verb of its own.
enum class SeenVerb { enter, enter_behind, renew, leave, leave_before };

/// Whose a server is.
enum class Serving {
    all_tests,  ///< of the process: nothing but its data are changed
    this_test,
    by_tls,  ///< this test's too, with certificates().server
};

/// A real server with nothing in it, and a network before it that the test makes fail.
class Site {
public:
    virtual ~Site() = default;

    /// Straight to the server, with further parameters: "request_timeout=1s&connect_timeout=1s".
    std::string url(const std::string& parameters = "") const;
    /// Through the network that fails.
    std::string url_behind(const std::string& parameters = "") const;
    /// By TLS, to a server that was made so: by what name, and at its own port or a proxy's.
    std::string secure_url(const std::string& host, const std::string& parameters) const;
    std::string secure_url_behind(const std::string& parameters) const;

    FaultProxy& network() { return network_; }
    ServerProcess& server() const { return server_; }
    WhichRequests asking(SeenVerb verb) const;

    /// "127.0.0.1:4711", or several of them with commas.
    virtual std::string url_at(const std::string& address) const = 0;
    virtual std::string secure_url_at(const std::string& address) const = 0;
    virtual bool is(SeenVerb verb, std::string_view request) const = 0;
    /// What is in the server that should not stay there, in words.
    virtual std::string leftovers() const;
    /// Has the server end all connections, and forget what it had ready for them.
    virtual void end_sessions() { network_.cut(Ending::reset); }
    /// Deletes what the server has of a lock that is held, as somebody could by hand.
    virtual void delete_lock(const std::string& name) const = 0;

protected:
    /// The network is before that port of the server.
    Site(ServerProcess& server, int port, MakeProtocol protocol);

private:
    ServerProcess& server_;
    const int port_;
    FaultProxy network_;
};

/// The server of a site, made before it: of all tests, or of this one.
template <class Server>
class ServerOfSite {
protected:
    template <class Options>
    ServerOfSite(Serving serving, Options options)
        : own_(serving == Serving::all_tests ? nullptr
                                             : std::make_unique<Server>(std::move(options))) {}

    const std::unique_ptr<Server> own_;
    Server& its_server_ = own_ ? *own_ : Server::shared();
};

std::unique_ptr<Site> make_redis_site(Serving serving);
std::unique_ptr<Site> make_plain_redis_site(Serving serving);
std::unique_ptr<Site> make_redisson_site(Serving serving);
std::unique_ptr<Site> make_zookeeper_site(Serving serving);
std::unique_ptr<Site> make_etcd_site(Serving serving);
std::unique_ptr<Site> make_postgres_site(Serving serving);
std::unique_ptr<Site> make_mysql_site(Serving serving);

/// A store, and what it promises: that decides which cells there are.
struct StoreAtSite {
    std::string name;
    std::unique_ptr<Site> (*make)(Serving);
    /// The shortest lease that its server grants.
    std::chrono::milliseconds brief = std::chrono::milliseconds{900};
    /// Waiters are known to the server, in their order.
    bool has_line = true;
    /// Its server runs our code: a place is offered to the next in line, who claims it.
    bool runs_our_code = true;
    /// A request is answered once, also when it comes late on a connection that is over. Else the
    /// server ends a connection with all that is in it when its client has come by another one.
    bool takes_late_requests = true;
    /// Who waits knows all of its line, not the one before it alone.
    bool sees_whole_line = false;
    /// Names of hosts are looked up by the C library, where a test can answer.
    bool asks_libc_for_names = true;
    /// A lease begins with what is asked for under it.
    bool grants_with_enter = true;
    /// Fences rise also when the server has forgotten all that there was.
    bool fences_by_clock = true;
    /// Tells at once that a server is of another kind.
    bool knows_its_like = false;
    /// Waiters are told on a connection by messages that nobody asked for.
    bool pushes = false;

    friend void PrintTo(const StoreAtSite& store, std::ostream* out) { *out << store.name; }
};

/// Every store with a server. A new one is added there and nowhere else.
std::vector<StoreAtSite> stores_at_sites();
/// Those of them that a promise is true of.
std::vector<StoreAtSite> stores_at_sites(bool StoreAtSite::*promise);
std::vector<StoreAtSite> stores_at_sites(bool (*are_meant)(const StoreAtSite&));

/// What each trap starts with.
class Trap : public testing::TestWithParam<StoreAtSite> {
protected:
    explicit Trap(Serving serving = Serving::all_tests) : site_(GetParam().make(serving)) {}
    /// What is asked about requests is the test's own, and clients may be there still.
    void TearDown() override { network().pass(); }

    /// Through the network that fails.
    Client client(const std::string& parameters = "") const {
        return connect(site_->url_behind(parameters), {.observer = counting_});
    }
    /// Straight to the server.
    Client rival(const std::string& parameters = "") const {
        return connect(site_->url(parameters), {.observer = counting_});
    }
    /// The same, as the port has it.
    std::shared_ptr<Store> port(const std::string& parameters = "") const;
    Contender contender(const std::string& name = "orders") const;

    static LockOptions brief() { return {.lease = GetParam().brief}; }
    /// Too long to end while a test looks: who is out of line was taken out of it.
    static LockOptions long_lived() { return {.lease = std::chrono::seconds{60}}; }

    /// So many of all clients have begun to wait.
    [[nodiscard]] bool await_waits(int count) const {
        return await([&] { return counting_->waits >= count; });
    }
    /// The listed holders of a lock, by fence.
    std::vector<std::uint64_t> holders(const std::string& name = "orders") const;
    /// The listed waiters, by owner.
    std::vector<std::string> waiters(const std::string& name = "orders") const;
    [[nodiscard]] bool await_waiters(std::size_t count) const {
        return await([&] { return waiters().size() == count; });
    }

    FaultProxy& network() const { return site_->network(); }
    Ambush ambush(SeenVerb verb, std::vector<Verdict> verdicts) const {
        return {network(), site_->asking(verb), std::move(verdicts)};
    }
    /// Lets pass what was held back, and waits until the server has done it.
    void land() const;
    /// Once what is cleaned up in the background is.
    void expect_free(const std::string& name = "orders") const;

    const std::unique_ptr<Site> site_;
    const std::shared_ptr<Counting> counting_ = std::make_shared<Counting>();

private:
    const Client watcher_ = connect(site_->url());
};

}  // namespace holdfast::test

/// In a build without any such store there are none.
#define HOLDFAST_AT_SITES(suite, ...)                                                         \
    GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                     \
    INSTANTIATE_TEST_SUITE_P(Traps, suite,                                                    \
                             testing::ValuesIn(holdfast::test::stores_at_sites(__VA_ARGS__)), \
                             [](const auto& about) { return about.param.name; })
