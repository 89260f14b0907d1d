#include "stores/net/dial.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string_view>
#include <vector>

#include "support/await.hpp"
#include "support/loopback.hpp"
#include "support/two_addresses.hpp"

namespace {

using LookUp = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

LookUp real_look_up() {
    static const auto found = reinterpret_cast<LookUp>(dlsym(RTLD_NEXT, "getaddrinfo"));
    return found;
}

}  // namespace

/// Instead of the machine's own, for all code of this process.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
    const bool ours = node != nullptr && std::string_view(node) == holdfast::test::two_addresses;
    const bool number = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
    if (!ours || number) return real_look_up()(node, service, hints, result);
    addrinfo* second = nullptr;
    if (const int error = real_look_up()("127.0.0.2", service, hints, result)) return error;
    if (const int error = real_look_up()("127.0.0.1", service, hints, &second)) return error;
    addrinfo* last = *result;
    while (last->ai_next != nullptr) last = last->ai_next;
    last->ai_next = second;
    return 0;
}

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;

class ADial : public testing::Test {
protected:
    Address address(std::chrono::milliseconds connect_timeout) const {
        return {.kind = "zookeeper",
                .host = test::two_addresses,
                .port = static_cast<std::uint16_t>(port_.number()),
                .connect_timeout = connect_timeout};
    }
    static sockaddr_in first_address(int port) {
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_port = htons(static_cast<std::uint16_t>(port));
        name.sin_addr.s_addr = inet_addr("127.0.0.2");
        return name;
    }
    /// Listens at the first address, but takes no connection: as many wait already as may.
    void make_first_silent() {
        const sockaddr_in name = first_address(port_.number());
        const auto* const shape = reinterpret_cast<const sockaddr*>(&name);
        sockets_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(bind(sockets_.back().get(), shape, sizeof name), 0);
        ASSERT_EQ(listen(sockets_.back().get(), 0), 0);
        for (int i = 0; i < 4; ++i) {
            sockets_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            static_cast<void>(connect(sockets_.back().get(), shape, sizeof name));
        }
    }
    /// Whether it was reached, and no failure was told.
    static bool reaches(Dial& dial) {
        return test::await([&] {
            EXPECT_FALSE(dial.advance());
            return dial.established();
        });
    }

    const test::LoopbackPort port_;
    const test::Socket listener_ = test::listen_on(port_.number());
    std::vector<test::Socket> sockets_;
};

TEST_F(ADial, TriesTheNextAddressWhenOneIsRefused) {
    const Address host = address(30s);
    Dial dial(host, [] {});
    EXPECT_TRUE(reaches(dial));
}

TEST_F(ADial, LeavesTimeForTheNextAddressWhenOneIsSilent) {
    make_first_silent();
    const Address host = address(2s);
    const Moment start = BootClock::now();
    Dial dial(host, [] {});
    EXPECT_TRUE(reaches(dial));
    EXPECT_LT(BootClock::now() - start, 2s);
    EXPECT_GE(BootClock::now() - start, 900ms) << "half of it was the first one's";
}

TEST_F(ADial, BeginsWithTheAddressThatItIsTold) {
    make_first_silent();
    const Address host = address(30s);
    Dial dial(
        host, [] {}, 1);
    EXPECT_TRUE(reaches(dial)) << "the silent one would take fifteen seconds";
}

TEST_F(ADial, RefusesANameThatIsSeveralServersWhereOneIsMeant) {
    Address host = address(30s);
    host.is_one_server = true;
    Dial dial(host, [] {});
    std::optional<Failure> failure;
    ASSERT_TRUE(test::await([&] { return (failure = dial.advance()).has_value(); }));
    EXPECT_NE(failure->sentence.find("name each server"), std::string::npos) << failure->sentence;
    EXPECT_TRUE(dial.is_hopeless());
    EXPECT_FALSE(dial.socket()) << "not even the first one is asked";
}

TEST_F(ADial, IsHopelessOnlyWhereEveryAddressIs) {
    // Says something, but not in TLS.
    std::vector<test::Socket> taken;
    const auto fails = [&](Dial& dial) {
        return test::await([&] {
            if (test::Socket one(accept(listener_.get(), nullptr, nullptr)); one) {
                static_cast<void>(send(one.get(), "-ERR no\r\n", 9, MSG_NOSIGNAL));
                taken.push_back(std::move(one));
            }
            return dial.advance().has_value();
        });
    };
    Address host = address(30s);
    host.reach = Address::Reach::tls;
    Dial both(host, [] {});
    EXPECT_TRUE(fails(both));
    EXPECT_FALSE(both.is_hopeless()) << "the other one refuses, and may be starting";
    host.host = "127.0.0.1";
    Dial alone(host, [] {});
    EXPECT_TRUE(fails(alone));
    EXPECT_TRUE(alone.is_hopeless());
}

TEST_F(ADial, GoesOnWhereAnEndpointThatWasReachedIsOfNoUse) {
    const Address host = address(30s);
    Dial dial(
        host, [] {}, 1);
    ASSERT_TRUE(reaches(dial));
    EXPECT_TRUE(dial.try_another());
    EXPECT_FALSE(dial.established());
    EXPECT_TRUE(test::await([&] { return dial.advance().has_value(); })) << "it is refused";
    EXPECT_FALSE(dial.try_another()) << "there are two";
}

}  // namespace
}  // namespace holdfast::net
