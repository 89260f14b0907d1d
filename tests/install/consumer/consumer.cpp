#include <iostream>
#include <string>

#include <holdfast/holdfast.hpp>

namespace {

int take_a_lock(const std::string& url) {
    auto client = holdfast::connect(url);
    auto mutex = client.mutex("consumer");
    const holdfast::Hold hold = mutex.acquire();
    std::cout << "holdfast " << holdfast::version() << ", fence " << hold.fence() << '\n';
    return hold.held() ? 0 : 1;
}

}  // namespace

/// Takes a URL; ends as the program does: 78 for a bad configuration, 69 for other failures.
int main(int count, char** words) {
    try {
        return take_a_lock(count > 1 ? words[1] : "memory:");
    } catch (const holdfast::Error& error) {
        std::cerr << error.what() << '\n';
        return error.code() == holdfast::errc::bad_configuration ? 78 : 69;
    }
}
