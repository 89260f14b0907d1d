#pragma once

#include "faults/ambush.hpp"
#include "faults/server_faults.hpp"

namespace holdfast::test {

/// What the fault tests of one store share: a server of all tests, a part of it for each, and a
/// network before it that the test makes fail.
template <class Server>
class BehindNetwork : public testing::Test {
protected:
    /// `part` follows the address in URLs, up to the parameters that a test adds.
    BehindNetwork(std::string scheme, std::string part, MakeProtocol protocol)
        : scheme_(std::move(scheme)),
          part_(std::move(part)),
          proxy_(server_.port(), protocol),
          watcher_(rival()) {}

    static std::string name_of_test() {
        return testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    /// Through the network that fails.
    std::string url_behind(const std::string& parameters = "") const {
        return url_at(proxy_.port(), parameters);
    }
    Client client(const std::string& parameters = "", ClientOptions options = {}) const {
        return connect(url_behind(parameters), std::move(options));
    }
    /// Straight to the server.
    Client rival(const std::string& parameters = "") const {
        return connect(url_at(server_.port(), parameters));
    }
    static LockOptions long_lived() { return {.lease = 10s}; }

    std::size_t holders(const std::string& name) const {
        const auto found = watcher_.look_at(name);
        return found ? found->holders.size() : 0;
    }
    std::size_t waiters(const std::string& name) const {
        const auto found = watcher_.look_at(name);
        return found ? found->waiters.size() : 0;
    }
    [[nodiscard]] bool await_waiters(const std::string& name, std::size_t count) const {
        return await([&] { return waiters(name) == count; });
    }
    [[nodiscard]] bool await_nobody(const std::string& name) const {
        return await([&] { return !watcher_.look_at(name); });
    }

private:
    std::string url_at(int port, const std::string& parameters) const {
        return scheme_ + "://127.0.0.1:" + std::to_string(port) + part_ + parameters;
    }

    const std::string scheme_;
    const std::string part_;

protected:
    Server& server_ = Server::shared();
    FaultProxy proxy_;

private:
    Client watcher_;
};

}  // namespace holdfast::test
