#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "faults/host_names.hpp"
#include "faults/sites.hpp"
#include "servers/certificates.hpp"
#include "support/loopback.hpp"

/// The ways to a server: addresses, names, TLS.
namespace holdfast::test {
namespace {

class Reach : public Trap {
protected:
    explicit Reach(Serving serving = Serving::all_tests) : Trap(serving) {}

    std::string url_by_name(const std::string& name, const std::string& parameters = "") const {
        const std::string url = site_->url_at(name + ":" + std::to_string(site_->server().port()));
        if (parameters.empty()) return url;
        return url + (url.find('?') == std::string::npos ? "?" : "&") + parameters;
    }
    /// One holds, another waits, and gets it when the first lets go.
    void expect_hand_over(const std::string& url) const {
        const Client ours = connect(url, {.observer = counting_});
        auto hold = ours.mutex("orders", long_lived()).acquire();
        EXPECT_TRUE(hold.held());
        const int waits = counting_->waits;
        const Client others = connect(url, {.observer = counting_});
        Acquiring waiting(others, "orders", long_lived());
        ASSERT_TRUE(await_waits(waits + 1));
        EXPECT_EQ(hold.release(), Released::in_time);
        EXPECT_TRUE(waiting.is_over(10s)) << "it is woken, and does not look again";
        auto next = waiting.get();
        EXPECT_GT(next.fence(), hold.fence());
        EXPECT_EQ(next.release(), Released::in_time);
        expect_free();
    }
};
HOLDFAST_AT_SITES(Reach);

TEST_P(Reach, ByAddressAndByName) {
    expect_hand_over(site_->url());
    expect_hand_over(url_by_name("localhost"));
}

TEST_P(Reach, ANameThatIsNotFoundIsToldInTime) {
    const auto start = Clock::now();
    const Error error = error_of([&] {
        return connect(
            url_by_name("no-such-host.invalid", "connect_timeout=1s&request_timeout=1s"));
    });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    expect_says(error, "no-such-host.invalid");
    EXPECT_LT(Clock::now() - start, 10s);
}

class NamedHosts : public Reach {};
HOLDFAST_AT_SITES(NamedHosts, &StoreAtSite::asks_libc_for_names);

TEST_P(NamedHosts, AnAddressThatRefusesIsFollowedByTheNextOfTheName) {
    const HostName name("store.test", {"127.0.0.2", "127.0.0.3", "127.0.0.1"});
    const Client ours = connect(url_by_name("store.test"));
    EXPECT_EQ(ours.mutex("orders").acquire().release(), Released::in_time);
}

/// Takes connections and says nothing.
Socket silent_listener(const char* address, int port) {
    Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address, &name.sin_addr);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(listen(listener.get(), 5), 0);
    return listener;
}

TEST_P(NamedHosts, AnAddressThatSaysNothingTakesItsPartOfTheTimeAndNoMore) {
    const Socket silent = silent_listener("127.0.0.2", site_->server().port());
    const HostName name("store.test", {"127.0.0.2", "127.0.0.1"});
    const Client ours =
        connect(url_by_name("store.test", "connect_timeout=1s&request_timeout=20s"));
    EXPECT_EQ(ours.mutex("orders").acquire().release(), Released::in_time);
}

TEST_P(NamedHosts, WhenNoAddressAnswersTheReasonIsTold) {
    const HostName name("store.test", {"127.0.0.2", "127.0.0.3"});
    const Error error =
        error_of([&] { return connect(url_by_name("store.test", "request_timeout=500ms")); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    const std::string_view sentence = error.what();
    EXPECT_TRUE(sentence.find("refused") != sentence.npos ||
                sentence.find("connect") != sentence.npos ||
                sentence.find("can be reached") != sentence.npos)
        << sentence;
}

// --- TLS ---

class Tls : public Reach {
protected:
    Tls() : Reach(Serving::by_tls) {}

    static std::string trusting(const Certificate& authority) {
        return "tls_ca=" + authority.certificate.string();
    }
    /// What trying again cannot mend.
    static void expect_refused_at_once(const std::string& url, std::string_view words) {
        const auto start = Clock::now();
        const Error error = error_of([&] { return connect(url); });
        EXPECT_LT(Clock::now() - start, 15s) << error.what();
        EXPECT_TRUE(error.code() == errc::unreachable || error.code() == errc::bad_configuration)
            << error.what();
        EXPECT_EQ(error.effect(), Effect::none) << error.what();
        expect_says(error, words);
    }

    const Certificates& known_ = certificates();
};
HOLDFAST_AT_SITES(Tls);

TEST_P(Tls, HandsOverWithATrustedServerByAddressAndByName) {
    for (const char* host : {"127.0.0.1", "localhost"}) {
        const std::string url = site_->secure_url(host, trusting(known_.authority));
        expect_hand_over(url);
        const Client ours = connect(url);
        // Long enough to be renewed by a busy machine.
        const auto lease = 3 * GetParam().brief;
        auto hold = ours.mutex("orders", {.lease = lease}).acquire();
        EXPECT_FALSE(await([&] { return !hold.held(); }, lease * 3 / 2)) << "it is renewed";
        EXPECT_EQ(hold.release(), Released::in_time);
    }
}

TEST_P(Tls, AServerThatIsNotTrustedIsRefused) {
    const std::string patient = "request_timeout=60s&connect_timeout=20s";
    expect_refused_at_once(
        site_->secure_url("127.0.0.1", trusting(known_.other_authority) + "&" + patient),
        "certificate");
    // Nor does the machine trust an authority of the test's.
    expect_refused_at_once(site_->secure_url("127.0.0.1", patient), "certificate");
}

class TlsOfNamedHosts : public Tls {};
HOLDFAST_AT_SITES(TlsOfNamedHosts, &StoreAtSite::asks_libc_for_names);

TEST_P(TlsOfNamedHosts, AServerByAnotherNameIsRefused) {
    const HostName name("store.test", {"127.0.0.1"});
    expect_refused_at_once(
        site_->secure_url("store.test", trusting(known_.authority) + "&request_timeout=60s"),
        "certificate");
}

TEST_P(Tls, AnAuthorityThatCannotBeReadIsTold) {
    expect_refused_at_once(site_->secure_url("127.0.0.1", "tls_ca=/no/such/file"), "file");
}

/// Without it we would come as nobody.
TEST_P(Tls, ACertificateOfOursThatCannotBeReadIsTold) {
    const std::string url =
        site_->secure_url("127.0.0.1", trusting(known_.authority) + "&request_timeout=60s");
    const std::string own = known_.client.certificate.string();
    expect_refused_at_once(url + "&tls_cert=/no/such/file", "'/no/such/file'");
    expect_refused_at_once(url + "&tls_cert=" + own + "&tls_key=/no/such/file", "'/no/such/file'");
}

class CutTls : public Tls {};
HOLDFAST_AT_SITES(CutTls);

TEST_P(CutTls, AConnectionIsReplacedAndNobodyIsLeft) {
    const Client ours = connect(site_->secure_url_behind(trusting(known_.authority) +
                                                         "&request_timeout=6s&connect_timeout=3s"));
    for (int i = 0; i < 6; ++i) {
        auto hold = ours.mutex("orders", long_lived()).acquire();
        network().cut(i % 2 == 0 ? Ending::fin : Ending::reset);
        EXPECT_NE(hold.release(), Released::too_late);
    }
    network().black_hole();
    auto mutex = ours.mutex("orders", long_lived());
    EXPECT_EQ(error_of([&] { return mutex.acquire(); }).code(), errc::unreachable);
    network().pass();
    expect_free();
}

}  // namespace
}  // namespace holdfast::test
