// One lock, held for a scope, and one taken with patience. Give it a store's URL, or nothing for
// the embedded store.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <stop_token>

#include <holdfast/holdfast.hpp>

using namespace std::chrono_literals;

namespace {

struct Database {
    void update(const char* row, std::uint64_t fence) {
        std::cout << "update " << row << " under fence " << fence << '\n';
    }
};

void work_until(const std::stop_token& lost) {
    for (int step = 1; step <= 3 && !lost.stop_requested(); ++step) {
        std::cout << "step " << step << '\n';
    }
}

}  // namespace

int main(int count, char** words) {
    Database database;
    const char* const row = "orders/42";
    auto client = count > 1 ? holdfast::connect(words[1]) : holdfast::connect();
    auto orders = client.mutex("orders/42", {.lease = 30s});

    {
        std::scoped_lock guard(orders);  // a Mutex is a standard mutex
        database.update(row, orders.hold().fence());
    }

    if (auto hold = orders.try_acquire_for(2s)) {  // empty when it is busy for that long
        database.update(row, hold->fence());  // the fence lets the database refuse a late writer
        work_until(hold->lost());             // a std::stop_token, fires when the lease ends
    }
}
