#pragma once

#include <mysql.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stores/mysql/connecting.hpp"
#include "stores/mysql/seat.hpp"
#include "stores/sql/address.hpp"
#include "stores/sql/dialect.hpp"
#include "stores/sql/session.hpp"

namespace holdfast::inline v0::mysql {

/// A session by libmariadb, which serves both kinds of servers.
class MysqlSession final : public sql::Session {
public:
    struct Role {
        std::string client;
        /// For pushes, the client sleeps in it until it is told something.
        sql::Dialect::Purpose purpose;
        std::string shedlock_zone =
            {};  ///< the time zone of ShedLock's sessions; empty: the server's
    };
    /// `connected` is called, on any thread, when there is something to advance. The address must
    /// outlive this.
    MysqlSession(const sql::Address& address, Role role, std::function<void()> connected);
    ~MysqlSession() override;
    MysqlSession(const MysqlSession&) = delete;
    MysqlSession& operator=(const MysqlSession&) = delete;

    void advance() override;
    int descriptor() const noexcept override;
    void ask(const sql::Call& call) override;
    void run(std::string_view script) override;
    std::vector<std::string> take_pushes() override;
    bool can_wait() const noexcept override { return awake_; }

private:
    /// What the library is at: each may stop and ask to be continued.
    enum class Step : std::uint8_t { nothing, querying, storing, moving_on };
    /// What the query is for.
    enum class Stage : std::uint8_t {
        connecting,
        greeting,
        hanging_bell,
        seat,
        requests,
        rolling_back,
        sleeping
    };

    bool listens() const noexcept { return role_.purpose == sql::Dialect::Purpose::pushes; }
    void take_connection();
    void send(std::string text);
    void proceed(int waiting_for);
    int start_step();
    int continue_step(int events);
    void finished_step();
    void query_done();
    void stored();
    void moved_on();
    void answered();
    std::string greeting() const;
    std::string lock_limits() const;
    void greeted();
    std::string hanging_of_bell() const;
    std::string getting_of_awake() const;
    std::string taking_of_awake();
    void bell_hung();
    void call();
    static std::string patience_of(const std::string& lease);
    void seat_answered();
    void roll_back();
    void sleep_again();
    void woken();
    void look_for_end();
    void fail();
    void fail(Failure failure);

    const sql::Address& address_;
    const Role role_;
    std::optional<Connecting> connecting_;
    Connection connection_{nullptr, mysql_close};
    std::string text_;  ///< of the query; the library keeps only its address
    Stage stage_ = Stage::connecting;
    Step step_ = Step::nothing;

    // What the library returns in the end of a step.
    int query_result_ = 0;
    MYSQL_RES* rows_ = nullptr;
    int next_result_ = 0;

    sql::Call asked_;
    Seat seat_;
    std::optional<Moment> look_for_awake_;     ///< when it tries again to have the sleeper's lock
    std::optional<sql::ServerError> refusal_;  ///< of a request that is being rolled back
    /// Whom something was told, and when: several may be told at the same moment, and seen one
    /// after the other.
    std::set<std::string> seen_;
    std::vector<std::string> pushes_;
    bool awake_ = false;  ///< it is to sleep again
};

}  // namespace holdfast::inline v0::mysql
