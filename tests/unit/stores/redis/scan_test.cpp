#include "stores/redis/scan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis {
namespace {

const std::vector<Host> three{{"b", 1}, {"a", 2}, {"a", 1}};

Command scan(std::string_view cursor) {
    return {"SCAN", cursor, "MATCH", "*"};
}
Reply answer(std::string cursor) {
    return {.kind = Reply::Kind::array,
            .elements = {{.kind = Reply::Kind::text, .text = std::move(cursor)}, {}}};
}
std::string cursor_in(const ScanPart& part) {
    EXPECT_EQ(part.command.words().at(3), "*");
    return std::string(part.command.words().at(1));
}
/// The cursor that the asker gets when a master answers with this one.
std::string completed(const ScanPart& part, std::string cursor) {
    Reply reply = answer(std::move(cursor));
    complete(part, reply);
    return reply.elements[0].text;
}

TEST(AScanOfACluster, IsToldFromOtherCommands) {
    EXPECT_TRUE(is_scan(scan("0")));
    EXPECT_FALSE(is_scan({"ECHO", "SCAN"}));
    EXPECT_FALSE(is_scan({"PING"}));
}

TEST(AScanOfACluster, GoesThroughOneMasterAfterTheOther) {
    std::string cursor = "0";
    std::vector<std::pair<Host, std::string>> asked;
    for (const char* answered : {"17", "0", "0", "5", "9", "0"}) {
        const ScanPart part = part_of_scan(scan(cursor), three);
        asked.emplace_back(part.host, cursor_in(part));
        cursor = completed(part, answered);
    }
    EXPECT_EQ(cursor, "0") << "all was looked through";
    const std::vector<std::pair<Host, std::string>> expected{{{"a", 1}, "0"}, {{"a", 1}, "17"},
                                                             {{"a", 2}, "0"}, {{"b", 1}, "0"},
                                                             {{"b", 1}, "5"}, {{"b", 1}, "9"}};
    EXPECT_EQ(asked, expected);
}

TEST(AScanOfACluster, BeginsAtTheNextOneWhenAMasterIsGone) {
    const std::string cursor = completed(part_of_scan(scan("0"), three), "17");
    const ScanPart part = part_of_scan(scan(cursor), {{"a", 2}, {"b", 1}});
    EXPECT_EQ(part.host, (Host{"a", 2}));
    EXPECT_EQ(cursor_in(part), "0");
}

}  // namespace
}  // namespace holdfast::redis
