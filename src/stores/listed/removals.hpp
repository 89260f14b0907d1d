#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "stores/listed/entrants.hpp"

namespace holdfast::inline v0::listed {

/// A node of this client that is to go.
struct Removal {
    /// Made by 0: whichever it is, for nobody else ever has that name. Its session is the one that
    /// it goes with at the latest.
    Incarnation incarnation;
    /// Of the session that removes it, where a client chooses one by its length.
    std::chrono::milliseconds term{};
    /// Whose it was, where that matters.
    Nonce nonce{};
};

/// What a client has to end by itself, because nobody asks for it again: it is removed again and
/// again until that is answered, or its session is over.
/// Threads: all members may be called from any thread.
class Removals {
public:
    /// Somebody is about to remove it.
    void add_under_way(const Removal& removal);
    /// To be removed by whoever tidies next, then or later.
    void add(const Removal& removal, Moment due = {});

    /// Those that nobody is about to remove, and whose time has come: the caller is, from now on.
    std::vector<Removal> take_due(Moment now);
    /// Nothing of it is left, or nothing can be done about it.
    void settled(const Removal& removal);
    void unanswered(const Removal& removal, Moment now);

private:
    struct Kept {
        Removal removal;
        Moment next{};
        bool under_way = false;
    };
    using ByNode = std::map<std::string, Kept>;
    void keep(const Kept& kept);
    ByNode::iterator find(const Removal& removal);

    std::mutex mutex_;
    ByNode kept_;
};

}  // namespace holdfast::inline v0::listed
