// Many readers or one writer, with the standard library's guards.
#include <iostream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/holdfast.hpp>

int main(int count, char** words) {
    auto client = count > 1 ? holdfast::connect(words[1]) : holdfast::connect();
    auto catalogue = client.shared_mutex("catalogue");
    std::map<std::string, int> prices{{"tea", 3}};

    auto read = [&] {
        std::shared_lock guard(catalogue);
        return prices.at("tea");
    };
    auto write = [&] {
        std::unique_lock guard(catalogue);
        ++prices["tea"];
    };

    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back(write);
        threads.emplace_back(read);
    }
    threads.clear();
    std::cout << "tea costs " << read() << '\n';
    return read() == 7 ? 0 : 1;
}
