#include "stores/sql/examining.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "port/sentences.hpp"
#include "stores/sql/settings.hpp"

namespace holdfast::inline v0::sql {

namespace {

/// A session that is waited for on the caller's thread.
class Questioned {
public:
    Questioned(const Address& address, const Dialect& dialect)
        : address_(address),
          dialect_(dialect),
          session_(dialect.open(Dialect::Purpose::requests, [] {})) {}

    Result<Reply> tell(std::string_view statements) {
        if (auto failure = advance_until([this] { return is_idle(); }, address_.connect_timeout)) {
            return *failure;
        }
        asked_ = BootClock::now();
        session_->run(statements);
        const auto replied = [this] { return session_->replied(); };
        if (auto failure = advance_until(replied, address_.request_timeout)) return *failure;
        told_ = BootClock::now();
        Reply reply = *session_->take_reply();
        if (reply.error) return dialect_.meaning_of(*reply.error).failure;
        return reply;
    }
    Moment asked() const noexcept { return asked_; }
    Moment told() const noexcept { return told_; }

private:
    bool is_idle() const { return session_->state() == Session::State::idle; }

    template <class Condition>
    std::optional<Failure> advance_until(Condition condition, std::chrono::milliseconds limit) {
        const Moment until = BootClock::now() + limit;
        while (!condition()) {
            if (session_->state() == Session::State::broken) return session_->trouble();
            if (BootClock::now() >= until) return timed_out(address_.shown(), limit);
            wait();
            session_->advance();
        }
        return std::nullopt;
    }

    /// While a name is looked up there is nothing to wait for but the time.
    void wait() const {
        constexpr int tick = 5;
        pollfd ready{.fd = session_->descriptor(), .events = session_->wanted(), .revents = 0};
        poll(&ready, 1, tick);
    }

    const Address& address_;
    const Dialect& dialect_;
    const std::unique_ptr<Session> session_;
    Moment asked_{};
    Moment told_{};
};

/// A row is a name and a value, or one word "name=value".
Settings settings_in(const Reply& reply) {
    Settings settings;
    for (const auto& row : reply.rows) {
        if (row.size() == 2) {
            settings.add(row[0], row[1]);
        } else if (row.size() == 1) {
            const std::size_t sign = std::min(row[0].find('='), row[0].size());
            settings.add(row[0].substr(0, sign), row[0].substr(std::min(sign + 1, row[0].size())));
        }
    }
    return settings;
}

}  // namespace

Result<Examination> examine(const Address& address, const Dialect& dialect) {
    Questioned server(address, dialect);
    const auto reply = server.tell(dialect.examination());
    if (!reply.ok()) return reply.failure();
    const Settings settings = settings_in(reply.value());
    Examination examination{.findings = dialect.findings_in(settings),
                            .clock_asked = server.asked(),
                            .clock_told = server.told()};
    if (const auto clock = static_cast<std::int64_t>(settings.number(clock_setting)); clock > 0) {
        examination.server_clock = std::chrono::microseconds{clock};
    }
    return examination;
}

}  // namespace holdfast::inline v0::sql
