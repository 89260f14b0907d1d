#include "stores/redlock/nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <holdfast/error.hpp>

namespace holdfast::redlock {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

Nodes of(const std::string& url) {
    return nodes_of(parse_store_url(url));
}

std::string refusal_of(const std::string& url) {
    try {
        static_cast<void>(of(url));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration);
        return error.what();
    }
    ADD_FAILURE() << url << " was accepted";
    return {};
}

TEST(IndependentNodes, AreNamedByTheUrl) {
    const Nodes nodes = of("redlock://me:secret@a,b:7000,c/2?request_timeout=1s&max_lease=20s");
    EXPECT_EQ(nodes.shown(), "redlock a:6379,b:7000,c:6379");
    EXPECT_EQ(nodes.terms.nodes, 3U);
    EXPECT_EQ(nodes.terms.max_lease, 20s);
    EXPECT_EQ(nodes.request_timeout(), 1s);
    for (const redis::Address& one : nodes.addresses) {
        EXPECT_EQ(one.user, "me");
        EXPECT_EQ(one.password, "secret");
        EXPECT_EQ(one.database, 2U);
        EXPECT_EQ(one.reach, redis::Address::Reach::tcp);
    }
    EXPECT_EQ(of("redlock://a,b,c,d,e").terms.majority(), 3U);
    EXPECT_EQ(of("redlock://a,b,c").terms.max_lease, 1min);
    EXPECT_EQ(of("redlocks://a,b,c").addresses[2].reach, redis::Address::Reach::tls);
}

TEST(IndependentNodes, AreAnOddNumberFromThreeToNine) {
    EXPECT_THAT(refusal_of("redlock://a,b,c,d"),
                HasSubstr("outlives no more failures than one of 3"));
    for (const char* hosts : {"a", "a,b", "a,b,c,d,e,f,g,h,i,j,k"}) {
        EXPECT_THAT(refusal_of("redlock://me:secret@" + std::string(hosts)),
                    AllOf(HasSubstr("three to nine"), Not(HasSubstr("secret"))));
    }
}

TEST(IndependentNodes, HaveOneVoteEach) {
    EXPECT_THAT(refusal_of("redlock://a,b,a:6379"), HasSubstr("a:6379 twice"));
}

TEST(IndependentNodes, AreOneSetInAnyOrder) {
    const auto set_of = [](const std::string& url) { return of(url).set; };
    EXPECT_EQ(set_of("redlock://a,b,c"), set_of("redlock://c:6379,a,b?max_lease=1s"));
    EXPECT_NE(set_of("redlock://a,b,c"), set_of("redlock://a,b,d"));
    EXPECT_NE(set_of("redlock://a,b,c"), set_of("redlock://a,b,c:1"));
    EXPECT_NE(set_of("redlock://a,b,c"), set_of("redlock://a,b,c,d,e"));
}

TEST(IndependentNodes, AreOneSetByItsNameWhateverTheirAddresses) {
    EXPECT_EQ(of("redlock://a,b,c?set=one").set, of("redlock://d,e,f?set=one").set);
    EXPECT_NE(of("redlock://a,b,c?set=one").set, of("redlock://a,b,c?set=two").set);
}

TEST(IndependentNodes, HaveAMaxLeaseOfASecondToAnHour) {
    EXPECT_THAT(refusal_of("redlock://a,b,c?max_lease=999ms"), HasSubstr("from 1s to 1h"));
    EXPECT_THAT(refusal_of("redlock://a,b,c?max_lease=61m"), HasSubstr("from 1s to 1h"));
}

}  // namespace
}  // namespace holdfast::redlock
