#include "stores/listed/renewal.hpp"

#include <gtest/gtest.h>

namespace holdfast::listed {
namespace {

enum class Is : std::uint8_t { admitted, waiting };

Renewed renewed(std::string path, std::string node, Is is) {
    Entrant one{.contender = {.resource = path, .nonce = {}, .owner = "me"},
                .path = path,
                .node = std::move(node)};
    one.admitted = is == Is::admitted;
    return {.entrant = std::move(one)};
}

TEST(ARenewal, LooksAtTheNodeOfEachHolderAndOnceAtEachLine) {
    std::vector all_of_them{
        renewed("/a", "/a/1", Is::admitted), renewed("/a", "/a/2", Is::admitted),
        renewed("/a", "/a/3", Is::waiting),  renewed("/b", "/b/1", Is::waiting),
        renewed("/a", "/a/4", Is::waiting),
    };
    const auto looks = looks_for(all_of_them);
    const std::vector<Look> expected{{Look::At::node, "/a/1"},
                                     {Look::At::node, "/a/2"},
                                     {Look::At::line, "/a"},
                                     {Look::At::line, "/b"}};
    EXPECT_EQ(looks, expected);
    std::vector<std::size_t> told_by;
    for (const Renewed& one : all_of_them) told_by.push_back(one.look);
    EXPECT_EQ(told_by, (std::vector<std::size_t>{0, 1, 2, 3, 2}));
}

TEST(ARenewal, DoesNotTakeTheNameThatOneWaitsForForTheNodeOfItsHolder) {
    std::vector both{renewed("/a", "/a", Is::admitted), renewed("/a", "", Is::waiting)};
    const std::vector<Look> expected{{Look::At::node, "/a"}, {Look::At::name, "/a"}};
    EXPECT_EQ(looks_for(both), expected);
}

}  // namespace
}  // namespace holdfast::listed
