#include "stores/zookeeper/link.hpp"

#include <holdfast/error.hpp>

namespace holdfast::inline v0::zookeeper {

void Link::open(const net::Address& address, std::string greeting, Moment now,
                std::size_t first_endpoint) {
    if (state() != State::down) return;
    greeting_ = std::move(greeting);
    net::Link::open(address, now, first_endpoint);
}

std::string Link::greeting() {
    reader_ = FrameReader();
    return greeting_;
}

std::optional<Failure> Link::hear_greeting() {
    auto failure = read_socket();
    // Others write to a ready link, and must not come into the middle of the greeting.
    if (!is_all_said()) return failure;
    try {
        if (const auto record = reader_.next()) {
            session_ = session_answer(*record);
            be_ready();
            return std::nullopt;
        }
    } catch (const Error& error) {
        be_hopeless();
        return fault(errc::unreachable, std::string("it does not speak ZooKeeper's protocol (") +
                                            error.what() + "); check host and port");
    }
    return failure;
}

std::optional<Failure> Link::receive(std::vector<std::string>& records) {
    return or_out_of_memory([&]() -> std::optional<Failure> {
        auto failure = read_socket();
        try {
            while (auto record = reader_.next()) records.push_back(*std::move(record));
        } catch (const Error& error) {
            return fault(
                errc::unreachable,
                std::string("it does not speak ZooKeeper's protocol (") + error.what() + ")");
        }
        return failure;
    });
}

std::optional<Failure> Link::read_socket() {
    return read(&net::Socket::read, [this](std::string_view bytes) -> std::optional<Failure> {
        reader_.feed(bytes);
        return std::nullopt;
    });
}

Failure Link::late() const {
    return fault(errc::unreachable, state() == State::greeting
                                        ? "no session in time; it may have no majority, see its log"
                                        : "no connection in time; check that the server runs");
}

Failure Link::broken(const net::Socket::Transfer& transfer) const {
    const bool closed = transfer.outcome == net::Socket::Outcome::closed;
    return fault(errc::unreachable,
                 closed ? "the server closed the connection; it may have no majority, see its log"
                        : "the connection broke (" + transfer.why + ")");
}

}  // namespace holdfast::inline v0::zookeeper
