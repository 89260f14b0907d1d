#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "servers/peer_network.hpp"
#include "support/await.hpp"

namespace holdfast::test {

/// Three real servers whose answers are a majority's. One leads when the constructor of a kind
/// returns, and the others follow.
template <class Server>
class Cluster {
public:
    static constexpr std::size_t size = 3;

    /// "scheme://h1,h2,h3"
    std::string url() const {
        std::string all;
        for (const auto& member : members_) all += (all.empty() ? "" : ",") + member->address();
        const std::string one = members_.front()->url();
        return one.substr(0, one.find("//") + 2) + all;
    }
    Server& member(std::size_t index) { return *members_.at(index); }

    /// The one that leads now, or as soon as one does: of those that are not cut off. A leader that
    /// was just paused or killed is not it.
    Server& leader() {
        return await_one("leads", [](const Server& one) { return one.leads(); });
    }
    /// One of those that follow now, in the same way.
    Server& follower() {
        return await_one("follows", [](const Server& one) { return one.follows(); });
    }

    /// No more passes between this member and the other two, and none of them is told; clients
    /// reach it still.
    void cut(const Server& member) {
        const std::size_t index = index_of(member);
        cut_.at(index) = true;
        network_.cut(index);
    }
    /// As cut(), but the other two are told at once, and elect; this one waits for them.
    void abandon(const Server& member) {
        const std::size_t index = index_of(member);
        cut_.at(index) = true;
        network_.abandon(index);
    }
    /// All reach each other again.
    void heal() {
        cut_ = {};
        network_.heal();
    }
    /// Until one leads, and all others that run follow it. Nobody may be cut off or paused.
    void await_whole() {
        static_cast<void>(leader());
        for (const auto& member : members_) {
            if (member->runs()) member->await_serving();
        }
    }

protected:
    explicit Cluster(PeerNetwork::Greeting greeting) : network_(size, std::move(greeting)) {}

    /// Each with its own options, by its index.
    template <class OptionsOf>
    void start(OptionsOf options_of) {
        for (std::size_t index = 0; index < size; ++index) {
            members_.push_back(std::make_unique<Server>(options_of(index)));
        }
        await_whole();
    }
    std::size_t index_of(const Server& member) const {
        const auto found = std::ranges::find(members_, &member, &std::unique_ptr<Server>::get);
        return static_cast<std::size_t>(found - members_.begin());
    }
    template <class Condition>
    Server& await_one(const std::string& what, Condition condition) const {
        Server* found = nullptr;
        const bool is_there = await([&] {
            for (std::size_t index = 0; index < size && found == nullptr; ++index) {
                if (!cut_.at(index) && condition(*members_[index])) found = members_[index].get();
            }
            return found != nullptr;
        });
        if (!is_there) throw std::runtime_error("no member of the cluster " + what);
        return *found;
    }

    PeerNetwork network_;

private:
    std::vector<std::unique_ptr<Server>> members_;
    std::array<bool, size> cut_{};
};

}  // namespace holdfast::test
