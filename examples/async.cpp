// A thousand contenders wait for one resource without a thread for each.
#include <atomic>
#include <exception>
#include <iostream>
#include <latch>

#include <holdfast/holdfast.hpp>

int main(int count, char** words) {
    constexpr int contenders = 1000;
    auto client = count > 1 ? holdfast::connect(words[1]) : holdfast::connect();
    auto printer = client.mutex("printer");

    std::latch all_done(contenders);
    std::atomic<int> failed = 0;
    for (int i = 0; i < contenders; ++i) {
        printer.async_acquire([&](std::exception_ptr failure, holdfast::Attempt hold) {
            if (failure || !hold) ++failed;
            // The hold is given back here, at the end of the callback, and the next one's turn
            // comes.
            all_done.count_down();
        });
    }
    all_done.wait();
    std::cout << contenders - failed << " of " << contenders << " had their turn\n";
    return failed == 0 ? 0 : 1;
}
