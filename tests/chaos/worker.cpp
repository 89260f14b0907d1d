#include "chaos/worker.hpp"

#include <unistd.h>

#include <holdfast/holdfast.hpp>
#include <iostream>
#include <optional>
#include <thread>

#include "chaos/broken_stores.hpp"
#include "chaos/fenced_sink.hpp"
#include "stores/open_store.hpp"
#include "support/client_of_store.hpp"
#include "verify/contention.hpp"

namespace holdfast::chaos {

namespace {

using verify::Journal;
using verify::Visit;

constexpr int own_threads = 3;

/// Counts in the sink, wherever nobody else may count meanwhile.
class Counting final : public verify::Work {
public:
    explicit Counting(const std::filesystem::path& sink) : sink_(sink) {}

    void begin(const std::vector<Visit>& visits) override {
        read_.clear();
        for (const Visit& one : visits) {
            read_.push_back(is_exclusive(one) ? sink_.raise(one.resource, one.fence)
                                              : std::nullopt);
        }
    }
    void finish(const std::vector<Visit>& visits) override {
        for (std::size_t i = 0; i < visits.size(); ++i) {
            if (read_[i]) sink_.write(visits[i].resource, visits[i].fence, *read_[i] + 1);
        }
    }

private:
    static bool is_exclusive(const Visit& visit) { return visit.weight == visit.capacity; }

    SinkVisitor sink_;
    std::vector<std::optional<std::uint64_t>> read_;
};

Client client_of(const WorkerOrders& orders) {
    if (orders.broken.empty()) return connect(orders.url);
    OpenedStore opened = open_store(orders.url);
    return core::Context::client(
        test::client_of({.store = broken(orders.broken, std::move(opened.store)),
                         .prefix = std::move(opened.prefix)}));
}

/// Patiently: what is to be seen is the store, not how long it takes to be there.
Client connected(const WorkerOrders& orders) {
    for (;;) {
        try {
            return client_of(orders);
        } catch (const Error& error) {
            if (error.code() != errc::unreachable) throw;
        }
    }
}

}  // namespace

verify::Manner manner_on(const Abilities& abilities, std::chrono::milliseconds shortest_lease) {
    return {.abilities = abilities,
            .shortest_lease = shortest_lease,
            .longest_lease = shortest_lease + shortest_lease * 4 / 3};
}

int work(const WorkerOrders& orders) {
    Journal journal(orders.journals / std::to_string(getpid()));
    const Client client = connected(orders);
    const verify::Manner manner = manner_on(orders.abilities, orders.shortest_lease);
    std::vector<std::jthread> threads;
    for (int i = 0; i < own_threads; ++i) {
        threads.emplace_back([&, i](const std::stop_token& stop) {
            try {
                Counting counting(orders.sink);
                const std::string who = std::to_string(getpid()) + "/" + std::to_string(i) + "/";
                const auto seed = orders.seed + static_cast<std::uint64_t>(i) * 1000;
                verify::Contention(client, journal, manner, who, seed, counting).run(stop);
            } catch (const std::exception& error) {
                journal.complain(error.what());
            }
        });
    }
    std::string line;
    std::getline(std::cin, line);
    return 0;
}

}  // namespace holdfast::chaos
