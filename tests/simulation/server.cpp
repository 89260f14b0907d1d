#include "simulation/server.hpp"

#include "stores/memory/memory_store.hpp"

namespace holdfast::simulation {

Server::Server(World& world, Fault fault)
    : world_(world),
      fault_(fault),
      clock_(world, std::chrono::hours{1}, 0),
      store_(memory::open_memory(clock_)) {}

void Server::flush() {
    if (clock_.wall_microseconds() <= highest_fence_) return;
    world_.trace([] { return "the server forgets everything"; });
    store_ = memory::open_memory(clock_);
    ++life_;
    flushed_ = world_.now();
}

void Server::set_wall_clock(std::chrono::microseconds forward) {
    // Data lost and the clock behind at once is beyond what fences promise: here, and in flush().
    if (life_ > 0 && forward.count() < 0) return;
    world_.trace([] { return "the server's wall clock is set"; });
    clock_.jump(forward);
}

int Server::life_of(const std::string& resource, std::uint64_t fence) const {
    const auto found = lives_.find({resource, fence});
    return found == lives_.end() ? life_ : found->second;
}

std::uint64_t Server::last_fence_of(const Nonce& nonce) const {
    const auto found = fences_.find(nonce);
    return found == fences_.end() ? 0 : found->second;
}

void Server::note(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
        Standing standing = entry.standing;
        note(entry.ticket, standing);
    }
}

void Server::note(const Ticket& ticket, Standing& standing) {
    if (standing.state != Standing::State::admitted) return;
    auto& fence = fences_[ticket.nonce];
    if (fence == standing.fence) return;
    auto& last = last_fence_[ticket.resource];
    if (standing.fence <= last && violation_.empty()) {
        violation_ = ticket.resource + ": fence " + std::to_string(standing.fence) +
                     " was given after " + std::to_string(last);
    }
    world_.trace([&] {
        return ticket.resource + ": admitted with fence " + std::to_string(standing.fence);
    });
    last = standing.fence;
    highest_fence_ = std::max(highest_fence_, last);
    fence = standing.fence;
    lives_[{ticket.resource, fence}] = life_;
}

}  // namespace holdfast::simulation
