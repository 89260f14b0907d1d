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

int Server::life_of(const Nonce& nonce) const {
    const auto found = admissions_.find(nonce);
    return found == admissions_.end() ? life_ : found->second.life;
}

void Server::note(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
        Standing standing = entry.standing;
        note(entry.ticket, standing);
    }
}

void Server::note(const Ticket& ticket, Standing& standing) {
    if (standing.state != Standing::State::admitted) return;
    auto& admission = admissions_[ticket.nonce];
    if (admission.fence == standing.fence) return;
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
    admission = {.fence = standing.fence, .life = life_};
}

}  // namespace holdfast::simulation
