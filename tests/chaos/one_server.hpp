#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chaos/site.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::chaos {

/// What ends a fault that is over by itself.
inline void nothing() {}

/// One server alone, behind a bad network.
template <class Server>
class OneServer : public Site {
public:
    template <class Options>
    OneServer(Options options, test::MakeProtocol protocol)
        : server_(std::move(options)), proxy_(server_.port(), protocol) {}

    void settle() override { server_.await_serving(); }

    std::vector<Fault> faults() override {
        auto all = of_the_network();
        all.push_back({"the server is killed",
                       [this](Random&) {
                           server_.kill();
                           return [this] { server_.restart(); };
                       },
                       excuse_of_a_kill()});
        all.push_back({"the server stands still",
                       [this](Random&) {
                           server_.pause();
                           return [this] { server_.resume(); };
                       },
                       excuse_of_a_pause()});
        return all;
    }

protected:
    std::string url_behind() const { return server_.url_through(proxy_.port()); }
    const Server& server() const { return server_; }
    /// As Fault::excuse.
    virtual Excused excuse_of_a_kill() const { return {}; }
    virtual Excused excuse_of_a_pause() const { return {}; }

private:
    std::vector<Fault> of_the_network() {
        return {
            network("black hole", [](auto& proxy, Random&) { proxy.black_hole(); }),
            network("cut", [](auto& proxy, Random&) { proxy.cut(); }),
            network("half closed", [](auto& proxy, Random&) { proxy.half_close(); }),
            network("refused",
                    [](auto& proxy, Random&) {
                        proxy.refuse();
                        proxy.cut();
                    }),
            network("replies are lost",
                    [](auto& proxy, Random& random) { proxy.drop_replies(1 + random() % 5); }),
            network("replies are late",
                    [](auto& proxy, Random& random) {
                        proxy.delay_replies(std::chrono::milliseconds{random() % 700});
                    }),
            network("requests are late, and their connections cut",
                    [](auto& proxy, Random&) {
                        proxy.hold_requests();
                        proxy.cut();
                    }),
            network("pushes are lost", [](auto& proxy, Random&) { proxy.lose_pushes(); }),
        };
    }
    template <class Begin>
    Fault network(std::string name, Begin begin) {
        return {std::move(name), [this, begin](Random& random) {
                    begin(proxy_, random);
                    return [this] { proxy_.pass(); };
                }};
    }

    Server server_;
    test::FaultProxy proxy_;
};

}  // namespace holdfast::chaos
