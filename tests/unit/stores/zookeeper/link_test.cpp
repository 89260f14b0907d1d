#include "stores/zookeeper/link.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "support/await.hpp"
#include "support/loopback.hpp"
#include "support/two_addresses.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

/// A server that has granted a session.
std::string granted() {
    RecordWriter record;
    record.number(0).number(2000).long_number(42).text("0123456789abcdef").flag(false);
    std::string bytes;
    append_frame(bytes, std::move(record).take());
    return bytes;
}

/// Whatever has come in, thrown away; how much it was.
std::size_t take_all(const test::Socket& socket) {
    std::string buffer(1 << 20, '\0');
    const auto count = recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

TEST(ALink, IsReadyOnlyWhenItsWholeGreetingIsSent) {
    const test::LoopbackPort port;
    const test::Socket listener = test::listen_on(port.number());
    const net::Address address{.kind = "zookeeper",
                               .host = "127.0.0.1",
                               .port = static_cast<std::uint16_t>(port.number()),
                               .connect_timeout = 30s};
    Link link([] {});
    // More than fits into the buffers between.
    const std::string greeting(std::size_t{16} << 20U, 'x');
    link.open(address, greeting, BootClock::now());
    test::Socket server;
    ASSERT_TRUE(test::await([&] {
        EXPECT_FALSE(link.advance(BootClock::now()));
        if (!server) server = test::accept_from(listener);
        return static_cast<bool>(server) && link.state() == Link::State::greeting;
    }));
    // It answers what comes first, and is slow with the rest.
    ASSERT_TRUE(test::send_all(server, granted()));
    EXPECT_FALSE(test::await(
        [&] {
            EXPECT_FALSE(link.advance(BootClock::now()));
            return link.ready();
        },
        50ms));
    std::size_t taken = 0;
    ASSERT_TRUE(test::await([&] {
        taken += take_all(server);
        EXPECT_FALSE(link.advance(BootClock::now()));
        return link.ready();
    }));
    EXPECT_TRUE(test::await([&] {
        taken += take_all(server);
        return taken == greeting.size();
    }));
    EXPECT_EQ(link.session().id, 42);
}

TEST(ALink, GoesOnToTheNextAddressWhenAServerClosesWithoutASession) {
    const test::LoopbackPort port;
    const test::Socket listener = test::listen_on(port.number());
    const net::Address address{.kind = "zookeeper",
                               .host = test::two_addresses,
                               .port = static_cast<std::uint16_t>(port.number()),
                               .connect_timeout = 30s};
    Link link([] {});
    // At the second one, which has no majority; then the first refuses, and so it fails.
    link.open(address, "greeting", BootClock::now(), 1);
    ASSERT_TRUE(test::await([&] {
        EXPECT_FALSE(link.advance(BootClock::now()));
        return link.state() == Link::State::greeting;
    }));
    ASSERT_TRUE(test::await([&] { return static_cast<bool>(test::accept_from(listener)); }));
    std::optional<Failure> failure;
    ASSERT_TRUE(test::await([&] {
        failure = link.advance(BootClock::now());
        return failure.has_value();
    }));
    EXPECT_NE(failure->sentence.find("refused"), std::string::npos) << failure->sentence;
}

/// Also there, where the first of two addresses is.
test::Socket listen_on_first_address(int port) {
    test::Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    return listener;
}

TEST(ALink, IsNotHopelessForWhatAnotherAddressSaid) {
    const test::LoopbackPort port;
    const test::Socket second = test::listen_on(port.number());
    const test::Socket first = listen_on_first_address(port.number());
    const net::Address address{.kind = "zookeeper",
                               .host = test::two_addresses,
                               .port = static_cast<std::uint16_t>(port.number()),
                               .connect_timeout = 30s};
    Link link([] {});
    link.open(address, "greeting", BootClock::now(), 1);
    test::Socket web_server;
    ASSERT_TRUE(test::await([&] {
        EXPECT_FALSE(link.advance(BootClock::now()));
        if (!web_server) web_server = test::accept_from(second);
        return static_cast<bool>(web_server);
    }));
    ASSERT_TRUE(test::send_all(web_server, "HTTP/1.1 400 Bad Request\r\n\r\n"));
    std::optional<Failure> failure;
    ASSERT_TRUE(test::await([&] {
        failure = link.advance(BootClock::now());
        // It has no majority, and closes.
        static_cast<void>(test::accept_from(first));
        return failure.has_value();
    }));
    EXPECT_NE(failure->sentence.find("majority"), std::string::npos) << failure->sentence;
    EXPECT_FALSE(link.is_hopeless()) << "it may have one soon";
}

}  // namespace
}  // namespace holdfast::zookeeper
