#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "exploration/node.hpp"
#include "port/clock.hpp"
#include "stores/redlock/quorum.hpp"

namespace holdfast::exploration {

/// A request on its way to one node.
struct Letter {
    std::size_t node = 0;
    Request request = {};
    auto operator<=>(const Letter&) const = default;
};

/// What is wrong with a client on purpose.
enum class Fault : std::uint8_t {
    none,
    writes_nothing_back,     ///< it takes the highest fence as it is
    keeps_by_minority,       ///< one answer renews its hold
    enters_by_minority,      ///< one answer admits it
    counts_from_the_answer,  ///< its lease, instead of from the send
    leaves_where_it_knows,   ///< only the nodes that have answered
};

/// One client, as the store will be: what it sends, given what it hears. Without time limits of its
/// own; whoever plays it says when it gives up.
class Participant {
public:
    Participant(redlock::Terms terms, Fault fault) : terms_(terms), fault_(fault) {}

    /// Takes part as somebody new.
    std::vector<Letter> enter(const Request& request, Moment now);
    /// What a node has answered to a letter.
    std::vector<Letter> take(const Letter& letter, const redlock::Vote& vote, Moment now);
    /// Waits no longer for who has not answered.
    std::vector<Letter> give_up(Moment now);
    std::vector<Letter> renew(Moment now);
    std::vector<Letter> leave();

    bool is_entering() const noexcept { return ballot_.has_value(); }
    bool is_renewing() const noexcept { return renewal_.has_value(); }
    /// Is in, as far as it knows: admitted, and has not left.
    bool is_in() const noexcept { return fence_ != 0; }
    /// May trust that nobody else is in.
    bool holds(Moment now) const noexcept { return is_in() && now < valid_until_; }
    /// Somebody who may be in somewhere, and knows it.
    bool answers_for(const Nonce& nonce) const noexcept;
    /// Whether an answer to it could still change anything.
    bool expects_answer_to(const Request& request) const noexcept;
    std::uint64_t fence() const noexcept { return fence_; }
    Moment sent() const noexcept { return sent_; }
    Moment valid_until() const noexcept { return valid_until_; }
    const Nonce& nonce() const noexcept { return request_.nonce; }
    /// How the last attempt ended that was not admitted.
    redlock::Decision ended_as() const noexcept { return ended_as_; }
    std::chrono::milliseconds until_free() const noexcept { return until_free_; }

    auto operator<=>(const Participant&) const = default;

    /// What it knows of one node.
    struct View {
        std::optional<redlock::Ballot::Node> entering = std::nullopt;
        std::optional<redlock::Vote> renewing = std::nullopt;
        bool has_answered = false;
        auto operator<=>(const View&) const = default;
    };
    View view_of(std::size_t node) const;
    /// All that it knows but for its views: the same whatever nodes are called.
    Participant without_views() const;

private:
    std::vector<Letter> settle(Moment now);
    std::vector<Letter> refused(redlock::Decision decision);
    void admitted(std::uint64_t fence, Moment now);
    std::vector<Letter> settle_renewal(Moment now);
    std::vector<Letter> enter_where_it_is_missed() const;
    void count_from(Moment sent);
    std::vector<Letter> to_all(const Request& request) const;

    redlock::Terms terms_;
    Fault fault_;
    Request request_ = {};
    Moment sent_{};
    std::optional<redlock::Ballot> ballot_ = std::nullopt;
    std::optional<redlock::Tally> renewal_ = std::nullopt;
    std::vector<bool> answered_ = {};  ///< for the fault that needs it
    std::uint64_t serial_ = 0;
    std::uint64_t fence_ = 0;
    Moment valid_until_{};
    redlock::Decision ended_as_ = redlock::Decision::open;
    std::chrono::milliseconds until_free_{0};
};

}  // namespace holdfast::exploration
