#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/loopback.hpp"
#include "support/resp.hpp"

namespace holdfast::test {

/// Says to whoever asks that the master is at a port, by a configuration of an epoch.
class LyingSentinel {
public:
    LyingSentinel(int master_port, std::uint64_t epoch) { say(master_port, epoch); }

    /// From now on.
    void say(int master_port, std::uint64_t epoch) {
        const std::lock_guard guard(mutex_);
        master_port_ = std::to_string(master_port);
        epoch_ = std::to_string(epoch);
    }
    /// Tells whoever has subscribed, which is waited for, that the master is another one.
    void tell_of_switch(int from, int to) {
        const std::lock_guard guard(mutex_);
        tidings_ =
            "mymaster 127.0.0.1 " + std::to_string(from) + " 127.0.0.1 " + std::to_string(to);
    }
    bool has_told() const {
        const std::lock_guard guard(mutex_);
        return tidings_.empty();
    }

    std::string address() const { return "127.0.0.1:" + std::to_string(port_.number()); }
    /// How often it was asked.
    int questions() const { return questions_; }

private:
    struct Visitor {
        Socket socket;
        std::string received = {};
        bool subscribed = false;
    };

    void run(const std::stop_token& stop) {
        const Socket listener = listen_on(port_.number());
        std::vector<Visitor> visitors;
        while (!stop.stop_requested()) {
            std::vector<pollfd> polled{{.fd = listener.get(), .events = POLLIN, .revents = 0}};
            for (const Visitor& one : visitors) {
                polled.push_back({.fd = one.socket.get(), .events = POLLIN, .revents = 0});
            }
            poll(polled.data(), polled.size(), 10);
            for (std::size_t i = 0; i < visitors.size(); ++i) {
                if (polled[i + 1].revents != 0) hear(visitors[i]);
            }
            std::erase_if(visitors, [](const Visitor& one) { return !one.socket; });
            tell(visitors);
            if (Socket visitor = accept_from(listener)) visitors.push_back({std::move(visitor)});
        }
    }

    void tell(const std::vector<Visitor>& visitors) {
        const std::lock_guard guard(mutex_);
        if (tidings_.empty()) return;
        for (const Visitor& one : visitors) {
            if (!one.subscribed) continue;
            send_all(one.socket, to_resp({"message", "+switch-master", tidings_}));
            tidings_.clear();
            return;
        }
    }

    void hear(Visitor& visitor) {
        char buffer[4096];
        const ssize_t count = recv(visitor.socket.get(), buffer, sizeof buffer, 0);
        if (count <= 0) return visitor.socket.close();
        visitor.received.append(buffer, static_cast<std::size_t>(count));
        std::string_view rest = visitor.received;
        while (const auto request = read_resp(rest)) {
            visitor.subscribed |= request->parts.at(0).text == "SUBSCRIBE";
            send_all(visitor.socket, answer_to(*request));
        }
        visitor.received = rest;
    }

    std::string answer_to(const Resp& request) {
        const std::string& first = request.parts.at(0).text;
        if (first == "SUBSCRIBE") {
            return "*3\r\n$9\r\nsubscribe\r\n$1\r\n+\r\n:1\r\n";
        }
        if (first != "SENTINEL") return "+OK\r\n";
        const std::lock_guard guard(mutex_);
        if (request.parts.at(1).text == "MASTER") {
            ++questions_;
            return to_resp({"name", "mymaster", "config-epoch", epoch_});
        }
        return to_resp({"127.0.0.1", master_port_});
    }

    mutable std::mutex mutex_;
    std::string master_port_;
    std::string epoch_;
    std::string tidings_;
    const LoopbackPort port_;
    std::atomic<int> questions_{0};
    std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

}  // namespace holdfast::test
