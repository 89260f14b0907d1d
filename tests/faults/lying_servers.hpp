#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/loopback.hpp"
#include "support/resp.hpp"

namespace holdfast::test {

/// Speaks Redis' protocol to all who come, by a thread of its own.
class Liar {
public:
    int port() const { return port_.number(); }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_.number()); }
    /// How often it was asked what it lies about.
    int questions() const { return questions_; }
    /// Whether somebody has subscribed, and asked since.
    bool is_followed() const { return questions_ > questions_before_; }

protected:
    Liar() = default;
    ~Liar() { stop(); }
    /// Before what it answers by is gone.
    void stop() { thread_ = {}; }
    void start() {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }

    virtual std::string answer_to(const Resp& request) = 0;

    mutable std::mutex mutex_;
    std::string tidings_;  ///< for the next who is subscribed
    std::atomic<int> questions_{0};

private:
    std::atomic<int> questions_before_{std::numeric_limits<int>::max()};  ///< somebody subscribed

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
            const bool subscribes = request->parts.at(0).text == "SUBSCRIBE";
            visitor.subscribed |= subscribes;
            if (subscribes) questions_before_ = questions_.load();
            send_all(visitor.socket, subscribes ? "*3\r\n$9\r\nsubscribe\r\n$1\r\n+\r\n:1\r\n"
                                                : answer_to(*request));
        }
        visitor.received = rest;
    }

    const LoopbackPort port_;
    std::jthread thread_;
};

/// Says to whoever asks that the master is at a port, by a configuration of an epoch.
class LyingSentinel final : public Liar {
public:
    LyingSentinel(int master_port, std::uint64_t epoch) {
        say(master_port, epoch);
        start();
    }
    ~LyingSentinel() { stop(); }

    /// From now on.
    void say(int master_port, std::uint64_t epoch) {
        const std::lock_guard guard(mutex_);
        master_port_ = std::to_string(master_port);
        epoch_ = std::to_string(epoch);
    }
    /// From now on it has no time for anybody who asks.
    void say_nothing() { say(0, 0); }
    /// Tells whoever has subscribed, which is waited for, that the master is another one.
    void tell_of_switch(int from, int to) {
        const std::lock_guard guard(mutex_);
        tidings_ =
            "mymaster 127.0.0.1 " + std::to_string(from) + " 127.0.0.1 " + std::to_string(to);
    }
    /// The same of another master that it watches.
    void tell_of_anothers_switch() {
        const std::lock_guard guard(mutex_);
        tidings_ = "another 127.0.0.1 1 127.0.0.1 2";
    }
    bool has_told() const {
        const std::lock_guard guard(mutex_);
        return tidings_.empty();
    }

private:
    std::string answer_to(const Resp& request) override {
        if (request.parts.at(0).text != "SENTINEL") return "+OK\r\n";
        const std::lock_guard guard(mutex_);
        const bool about_all = request.parts.at(1).text == "MASTER";
        questions_ += about_all ? 1 : 0;
        if (master_port_ == "0") return "-IDK\r\n";
        if (about_all) return to_resp({"name", "mymaster", "config-epoch", epoch_});
        return to_resp({"127.0.0.1", master_port_});
    }

    std::string master_port_;
    std::string epoch_;
};

/// Says to whoever asks that one master has all slots of a cluster.
class LyingNode final : public Liar {
public:
    struct Map {
        int master_port;
        std::uint64_t epoch;          ///< that it knows of
        std::uint64_t masters_epoch;  ///< by which the master has them
        std::vector<int> replica_ports = {};
    };
    explicit LyingNode(const Map& map) {
        say(map);
        start();
    }
    ~LyingNode() { stop(); }

    /// From now on.
    void say(const Map& map) {
        const std::lock_guard guard(mutex_);
        map_ = map;
    }

private:
    std::string answer_to(const Resp& request) override {
        if (request.parts.at(0).text != "CLUSTER") return "+OK\r\n";
        const std::lock_guard guard(mutex_);
        const std::string& about = request.parts.at(1).text;
        if (about == "INFO") return bulk("cluster_current_epoch:" + std::to_string(map_.epoch));
        if (about == "NODES") {
            return bulk(number() + " 127.0.0.1:" + std::to_string(map_.master_port) +
                        "@0 master - 0 0 " + std::to_string(map_.masters_epoch) +
                        " connected 0-16383\n");
        }
        ++questions_;
        std::string row = "*1\r\n*" + std::to_string(3 + map_.replica_ports.size()) +
                          "\r\n:0\r\n:16383\r\n" + node_at(map_.master_port);
        for (const int port : map_.replica_ports) row += node_at(port);
        return row;
    }
    std::string node_at(int port) const {
        return "*3\r\n" + bulk("127.0.0.1") + ":" + std::to_string(port) + "\r\n" + bulk(number());
    }
    std::string number() const { return std::string(40, map_.masters_epoch > 1 ? 'a' : 'b'); }
    static std::string bulk(const std::string& text) {
        return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }

    Map map_{};
};

}  // namespace holdfast::test
