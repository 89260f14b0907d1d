#include <iostream>

#include <holdfast/holdfast.hpp>

int main() {
    auto client = holdfast::connect("memory:");
    auto mutex = client.mutex("consumer");
    const holdfast::Hold hold = mutex.acquire();
    std::cout << "holdfast " << holdfast::version() << ", fence " << hold.fence() << '\n';
    return hold.held() ? 0 : 1;
}
