#pragma once

#include <holdfast/holdfast.hpp>
#include <thread>

#include "support/arena.hpp"
#include "support/await.hpp"

/// What many do at once, be they threads or processes, to see whether a lock keeps them apart.
namespace holdfast::test {

inline void raise_peak(Arena& arena, int now) {
    int seen = arena.peak;
    while (seen < now && !arena.peak.compare_exchange_weak(seen, now)) {
    }
}

inline void count(const Client& client, Arena& arena, int rounds) {
    auto mutex = client.mutex("counter");
    for (int i = 0; i < rounds; ++i) {
        const Hold hold = mutex.acquire();
        arena.counter = arena.counter + 1;
    }
}

/// Every fourth round writes, the others read.
inline void read_write(const Client& client, Arena& arena, int rounds) {
    auto mutex = client.shared_mutex("table");
    for (int i = 0; i < rounds; ++i) {
        if (i % 4 == 0) {
            const Hold hold = mutex.acquire();
            if (arena.inside != 0) ++arena.meetings;
            arena.counter = arena.counter + 1;
            arena.copy = arena.copy + 1;
        } else {
            const Hold hold = mutex.acquire_shared();
            raise_peak(arena, ++arena.inside);
            if (arena.counter != arena.copy) ++arena.meetings;
            --arena.inside;
        }
    }
}

/// Three permits. Whoever is in for the first time stays until three have met: a hand-over may take
/// longer than a moment inside.
inline void permits(const Client& client, Arena& arena, int rounds) {
    auto semaphore = client.semaphore("pool", 3);
    for (int i = 0; i < rounds; ++i) {
        const Hold hold = semaphore.acquire();
        const int now = ++arena.inside;
        raise_peak(arena, now);
        if (now > 3) ++arena.meetings;
        if (i == 0) static_cast<void>(await([&] { return arena.peak >= 3; }));
        std::this_thread::yield();
        --arena.inside;
    }
}

}  // namespace holdfast::test
