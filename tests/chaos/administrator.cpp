#include "chaos/administrator.hpp"

#include <holdfast/error.hpp>

#include "chaos/one_server.hpp"
#include "chaos/worker.hpp"
#include "stores/open_store.hpp"

namespace holdfast::chaos {

std::vector<Fault> Administrator::faults() {
    return {{"a hold is ended by hand",
             [this](Random& random) {
                 end_some(&Line::holders, random);
                 return nothing;
             },
             site_.excuse_of_hands()},
            {"a waiter is thrown out by hand", [this](Random& random) {
                 end_some(&Line::waiters, random);
                 return nothing;
             }}};
}

/// From a random resource on, the first that somebody is in.
void Administrator::end_some(std::vector<Place> Line::*those, Random& random) const {
    const auto names = verify::resources(manner_on(site_.abilities()));
    const auto first = random() % names.size();
    try {
        const OpenedStore opened = open_store(site_.url());
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::string resource = opened.prefix + names[(first + i) % names.size()];
            const auto lines = opened.store->look_at(resource).get();
            if (!lines.ok()) return;
            for (const Line& line : lines.value()) {
                const auto& found = line.*those;
                if (line.resource != resource || found.empty()) continue;
                const Ticket& one = found.at(random() % found.size()).ticket;
                static_cast<void>(opened.store->leave(one).get());
                return;
            }
        }
    } catch (const Error&) {
        // Nobody answers at the moment.
    }
}

}  // namespace holdfast::chaos
