// At most three at once, and several resources at once.
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

#include <holdfast/holdfast.hpp>

using namespace std::chrono_literals;

int main(int count, char** words) {
    auto client = count > 1 ? holdfast::connect(words[1]) : holdfast::connect();

    auto downloads = client.semaphore("downloads", 3);
    std::atomic<int> running = 0;
    std::atomic<int> peak = 0;
    auto download = [&] {
        const holdfast::Hold hold = downloads.acquire();
        const int now = ++running;
        for (int seen = peak; seen < now && !peak.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(2ms);
        --running;
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < 12; ++i) threads.emplace_back(download);
    threads.clear();
    std::cout << "at most " << peak << " downloads at once\n";

    auto accounts = client.multi_lock({"accounts/9", "accounts/7"});
    const holdfast::Hold both = accounts.acquire();
    std::cout << "holds " << accounts.names().size() << " accounts\n";
    return peak <= 3 && both.held() ? 0 : 1;
}
