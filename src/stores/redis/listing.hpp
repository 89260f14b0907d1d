#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "port/contender.hpp"
#include "port/failure.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/reply.hpp"
#include "stores/scripted/protocol.hpp"

namespace holdfast::inline v0::redis {

/// The lines whose resource starts with a prefix: found by SCAN, a piece at a time, so that a large
/// server is not kept from its work; then each is looked at, page by page.
class Listing {
public:
    using Reply = redis::Reply;
    using Inquiry = scripted::Inquiry<Command>;

    /// Nothing when so much cannot be listed. The layout must outlive it.
    static Result<Listing> of_all(const Layout& layout, std::string prefix);
    /// The one line, by a single request.
    static Listing of_one(const Layout& layout, std::string resource);

    std::vector<Inquiry> start();
    std::vector<Inquiry> take(const std::string& about, const Reply& reply);
    Result<std::vector<Line>> lines();

private:
    Listing(const Layout& layout, std::string prefix)
        : layout_(&layout), prefix_(std::move(prefix)) {}

    Inquiry scan(const std::string& cursor) const;
    std::vector<Inquiry> scanned(const Reply& reply);
    std::vector<Inquiry> look_at_each() const;
    std::vector<Inquiry> looked(const std::string& key, const Reply& reply);
    void add(Line page);

    const Layout* layout_;
    std::string prefix_;
    Layout::Search search_ = {};
    std::set<std::string> keys_ = {};
    std::optional<std::string> objection_ = {};  ///< to a key that was found
    std::map<std::string, Line> lines_ = {};
};

}  // namespace holdfast::inline v0::redis
