#pragma once

#include <poll.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stores/net/backoff.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/probe.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

/// A server that is asked where the nodes are: a sentinel, or a node of a cluster. By a second
/// connection it tells when that has changed, if it has a channel for it.
/// Threads: as of a Node.
class Informant {
public:
    using Told = Result<std::vector<Reply>>;

    Informant(Address address, std::vector<Command> question, const std::string& channel,
              const std::function<void()>& resolved);

    const Address& address() const noexcept { return address_; }

    /// Asks, unless it is being asked.
    void ask(Moment now);
    bool is_asked() const noexcept { return until_.has_value(); }
    /// What it has answered to the question, each reply in its place, or why it has not. Once.
    std::optional<Told> take_answer();
    /// The question is of no interest any more.
    void dismiss();

    /// Opens the second connection, and opens it again.
    void follow(Moment now);
    bool is_heard() const noexcept { return tidings_.ready(); }
    /// What it has told by itself, until that is done with.
    const std::vector<Reply>& tidings() const noexcept { return tidings_heard_; }
    void done_with_tidings() noexcept { tidings_heard_.clear(); }
    /// Whether there was a gap in that since the last time.
    bool take_gap();
    /// Whether, since the last time, that connection was lost, or was there again after it had
    /// been, or nobody had looked at it for so long that nobody would know, or had seen to it that
    /// it is made. Then a question that was under way is dismissed: the answer may be as old.
    bool take_doubt() noexcept { return std::exchange(doubtful_, false); }
    /// When nobody had looked: it was asked for a sign of life, and has not answered to that yet.
    /// What else it says may be from before.
    bool is_in_question() const noexcept { return in_question_; }

    /// Goes on as far as it goes without blocking.
    void go_on(Moment now);
    static constexpr std::size_t polled = 2;
    void poll_for(std::vector<pollfd>& descriptors) const;
    void read(std::span<const pollfd> descriptors);
    /// When something is due by itself; never: Moment::max().
    Moment earliest() const;

private:
    void go_on_asking(Moment now);
    void go_on_following(Moment now);
    void overlooked(Moment now);
    void put_in_question(Moment now);
    void hear(Moment now);
    void send_question();
    void ended(Told told);

    const Address address_;
    const std::vector<Command> question_;

    Link questions_;
    std::optional<Moment> until_;  ///< the question under way
    bool sent_ = false;
    std::string unsent_;
    std::vector<Reply> replies_;
    std::optional<Failure> broken_;
    std::optional<Told> told_;

    Link tidings_;
    bool followed_ = false;
    Moment looked_{};                        ///< when go_on() was called last, since it is followed
    Probe probe_{address_.request_timeout};  ///< of tidings_
    net::Backoff backoff_;
    std::vector<Reply> tidings_heard_;
    bool tidings_broken_ = false;
    bool gap_ = false;
    bool doubtful_ = false;
    bool in_question_ = false;
    bool was_lost_ = false;  ///< tidings_, after it was ready
};

}  // namespace holdfast::inline v0::redis
