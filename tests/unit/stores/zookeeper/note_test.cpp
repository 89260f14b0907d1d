#include "stores/zookeeper/note.hpp"

#include <gtest/gtest.h>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

TEST(ANote, IsReadAsItWasWritten) {
    Contender one{
        .resource = "orders", .nonce = {{std::byte{7}}}, .owner = "a\\b\nc=d", .lease = 30s};
    one.host = "near";
    one.pid = 42;
    const auto note = note_in(note_of(one));
    ASSERT_TRUE(note);
    EXPECT_EQ(note->nonce, one.nonce);
    EXPECT_EQ(note->owner, one.owner);
    EXPECT_EQ(note->host, "near");
    EXPECT_EQ(note->pid, 42);
    EXPECT_EQ(note->lease, 30s);
}

TEST(ANote, SaysTheShareToPeople) {
    const Contender one{.resource = "pool", .nonce = {}, .owner = "me", .weight = 2, .capacity = 5};
    EXPECT_NE(note_of(one).find("\nshare=2/5\n"), std::string::npos);
}

TEST(ANote, OfOthersIsNone) {
    EXPECT_FALSE(note_in(""));
    EXPECT_FALSE(note_in("192.168.0.1"));
    EXPECT_TRUE(note_in("holdfast\n"));
    EXPECT_FALSE(note_in("holdfast\nnonce=xyz\npid\n")->nonce);
}

}  // namespace
}  // namespace holdfast::zookeeper
