#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "play/play_site.hpp"
#include "port/store.hpp"

namespace holdfast::test {

/// What a store answered: in words, to be compared, and who stands where by that.
struct Heard {
    std::string words;
    std::map<Nonce, Standing> standings = {};
};

/// A store, the tickets that it gave, and whom it told that it is its turn.
class Side {
public:
    Side(std::shared_ptr<Store> store, const Rules& rules);

    Heard enter(std::span<const Contender> contenders);
    Heard standing(const Contender& one);
    Heard renew(const std::vector<Contender>& contenders, Extension extension);
    Heard leave(const Contender& one);
    /// As after an enter that was never answered.
    Heard leave_unanswered(const Contender& one);
    /// As an administrator would, by what is listed.
    Heard break_off(const Contender& one);
    Heard lines(const std::string& prefix);
    /// What the resource is like now, if anybody contends for it.
    std::optional<Line> line(const std::string& resource);

    /// Since the last time; pushes of the tested one may still be on their way.
    std::set<Nonce> take_told();
    [[nodiscard]] bool await_told(const Nonce& nonce);

private:
    struct Bell;

    Ticket ticket_of(const Contender& one) const;
    void watch(const Ticket& ticket);
    Heard heard(const Nonce& nonce, const Result<Standing>& result);
    Heard heard_of_leaving(const Nonce& nonce, const Result<Standing>& result);
    std::string in_words(const Place& place) const;
    std::string in_words(const Line& line) const;

    const std::shared_ptr<Store> store_;
    const Rules rules_;
    const std::shared_ptr<Bell> bell_;
    std::map<Nonce, Ticket> tickets_;
    std::map<Nonce, std::unique_ptr<Watch>> watches_;
    Wire::Interest callbacks_;
};

}  // namespace holdfast::test
