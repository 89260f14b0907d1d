#pragma once

#include <libpq-fe.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stores/net/resolver.hpp"
#include "stores/sql/address.hpp"
#include "stores/sql/session.hpp"

namespace holdfast::inline v0::postgres {

/// A database, and which of its schemas has our tables.
struct Address : sql::Address {
    std::string schema = {};
};

/// A session by libpq. Tries all addresses of its host, one after the other, and divides the time
/// to connect among them.
class PostgresSession final : public sql::Session {
public:
    /// `channel`: what it listens to; empty when it is for requests. The address must outlive this.
    PostgresSession(const Address& address, std::string channel, std::function<void()> resolved);

    void advance() override;
    std::optional<Moment> due() const noexcept override { return next_address_at_; }
    int descriptor() const noexcept override;
    void ask(const sql::Call& call) override;
    void run(std::string_view script) override;
    std::vector<std::string> take_pushes() override;

private:
    using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

    void resolve();
    void try_next_address();
    void start(const std::string& numeric_host);
    void poll_connection();
    void greet();
    static void take_notice(void* session, const PGresult* notice);
    void receive();
    void take_result(const PGresult& result);
    void greeted();
    void send(const sql::Call& call);
    void prepared();
    void sent(int accepted);
    void flush();
    void fail(Failure failure);
    std::string message() const;

    const Address& address_;
    const std::string channel_;
    const Moment open_until_;
    std::optional<net::Resolution> resolution_;
    std::vector<std::string> hosts_;  ///< by number; the next to be tried is the last
    std::string host_;                ///< that is tried, or was had
    std::optional<Moment> next_address_at_;
    Connection connection_{nullptr, PQfinish};
    bool greeting_ = false;                 ///< connected, and finding out whom it is connected to
    std::map<std::string, bool> prepared_;  ///< the functions that were asked for: whether they are
    std::optional<sql::Call> to_send_;      ///< once it is prepared
    bool is_unconfirmed_ = false;           ///< no replica may have what was committed last
};

}  // namespace holdfast::inline v0::postgres
