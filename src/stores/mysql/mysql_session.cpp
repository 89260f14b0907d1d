#include "stores/mysql/mysql_session.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/mysql/failures.hpp"
#include "stores/mysql/mysql_scripts.hpp"

namespace holdfast::inline v0::mysql {

namespace {

short to_poll(int waiting_for) {
    int events = 0;
    if ((waiting_for & MYSQL_WAIT_READ) != 0) events |= POLLIN;
    if ((waiting_for & MYSQL_WAIT_WRITE) != 0) events |= POLLOUT;
    return static_cast<short>(events);
}

int from_poll(short events) {
    int happened = 0;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) happened |= MYSQL_WAIT_READ;
    if ((events & POLLOUT) != 0) happened |= MYSQL_WAIT_WRITE;
    return happened;
}

/// Our words need no escapes.
void append_call(std::string_view verb, const std::vector<std::string>& words, std::string& text) {
    text.append("CALL ").append(scripts::prefix).append(verb);
    char before = '(';
    for (const std::string& word : words) {
        text += before;
        text.append("'").append(word).append("'");
        before = ',';
    }
    text += ");";
}

/// A peer that is gone without a word is noticed by the kernel: no query is spent on it.
void keep_alive(int descriptor, std::chrono::milliseconds patience) {
    const auto set = [&](int level, int option, int value) {
        setsockopt(descriptor, level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 2);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(patience.count()));
    set(IPPROTO_TCP, TCP_NODELAY, 1);
}

/// A secured one it leaves as one that blocks, and asks TLS to read from it all the same.
void never_block(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

}  // namespace

MysqlSession::MysqlSession(const sql::Address& address, Role role, std::function<void()> connected)
    : address_(address), role_(std::move(role)) {
    try {
        connecting_.emplace(address_, std::move(connected));
    } catch (const Error& error) {
        fail({errc::unreachable, Effect::none, error.what()});
    }
}

/// The library says goodbye, and would wait for room for that behind a request that nobody reads.
MysqlSession::~MysqlSession() {
    const bool under_way = step_ != Step::nothing || state_ == State::broken;
    if (connection_ && under_way) shutdown(mysql_get_socket(connection_.get()), SHUT_RDWR);
}

int MysqlSession::descriptor() const noexcept {
    return connection_ && wanted_ != 0 ? mysql_get_socket(connection_.get()) : -1;
}

void MysqlSession::fail(Failure failure) {
    trouble_ = std::move(failure);
    state_ = State::broken;
    step_ = Step::nothing;
    wanted_ = 0;
}

void MysqlSession::fail() {
    fail(lost_connection(mysql_errno(connection_.get()), mysql_error(connection_.get()), address_));
}

void MysqlSession::take_connection() {
    auto outcome = connecting_->take();
    if (!outcome) return;
    connecting_.reset();
    if (!outcome->ok()) return fail(outcome->failure());
    connection_ = std::move(*outcome).value();
    keep_alive(mysql_get_socket(connection_.get()), address_.request_timeout);
    never_block(mysql_get_socket(connection_.get()));
    stage_ = Stage::greeting;
    send(greeting());
    proceed(start_step());
}

/// The library takes an error of OpenSSL's for one of this connection, and the thread may have one
/// of another's, or of the user's own: then each next one would seem lost too.
int MysqlSession::start_step() {
    ERR_clear_error();
    MYSQL* const mysql = connection_.get();
    switch (step_) {
        case Step::querying:
            return mysql_real_query_start(&query_result_, mysql, text_.data(), text_.size());
        case Step::storing:
            return mysql_store_result_start(&rows_, mysql);
        case Step::moving_on:
            return mysql_next_result_start(&next_result_, mysql);
        case Step::nothing:
            break;
    }
    return 0;
}

int MysqlSession::continue_step(int events) {
    ERR_clear_error();
    MYSQL* const mysql = connection_.get();
    switch (step_) {
        case Step::querying:
            return mysql_real_query_cont(&query_result_, mysql, events);
        case Step::storing:
            return mysql_store_result_cont(&rows_, mysql, events);
        case Step::moving_on:
            return mysql_next_result_cont(&next_result_, mysql, events);
        case Step::nothing:
            break;
    }
    return 0;
}

/// Steps follow one another as long as none has to wait.
void MysqlSession::proceed(int waiting_for) {
    while (waiting_for == 0 && step_ != Step::nothing) {
        finished_step();
        if (step_ != Step::nothing) waiting_for = start_step();
    }
    if (state_ == State::broken) return;
    wanted_ = step_ == Step::nothing ? short{POLLIN} : to_poll(waiting_for);
}

void MysqlSession::advance() {
    if (connecting_) return take_connection();
    if (state_ == State::broken) return;
    if (std::exchange(awake_, false)) {
        sleep_again();
        return proceed(start_step());
    }
    if (step_ == Step::nothing) return look_for_end();
    pollfd ready{.fd = mysql_get_socket(connection_.get()), .events = wanted_, .revents = 0};
    if (poll(&ready, 1, 0) <= 0) return;
    proceed(continue_step(from_poll(ready.revents)));
}

/// What an idle connection brings is its end.
void MysqlSession::look_for_end() {
    char byte = 0;
    const int socket = mysql_get_socket(connection_.get());
    const ssize_t found = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (found >= 0 || (errno != EAGAIN && errno != EINTR)) {
        fail({errc::unreachable, Effect::none,
              address_.shown() + ": the server ended the connection; check that it runs"});
    }
}

void MysqlSession::finished_step() {
    switch (step_) {
        case Step::querying:
            return query_done();
        case Step::storing:
            return stored();
        case Step::moving_on:
            return moved_on();
        case Step::nothing:
            break;
    }
}

void MysqlSession::send(std::string text) {
    reply_ = {};
    reply_whole_ = false;
    text_ = std::move(text);
    step_ = Step::querying;
}

void MysqlSession::query_done() {
    if (query_result_ != 0 || stage_ == Stage::seat) return answered();
    step_ = Step::storing;
}

void MysqlSession::stored() {
    if (rows_ == nullptr && mysql_errno(connection_.get()) != 0) return answered();
    if (rows_ != nullptr) {
        const unsigned columns = mysql_num_fields(rows_);
        while (MYSQL_ROW row = mysql_fetch_row(rows_)) {
            auto& words = reply_.rows.emplace_back();
            for (unsigned i = 0; i < columns; ++i) words.emplace_back(row[i] ? row[i] : "");
        }
        mysql_free_result(std::exchange(rows_, nullptr));
    }
    step_ = Step::moving_on;
}

void MysqlSession::moved_on() {
    if (next_result_ == 0) {
        step_ = Step::storing;
    } else {
        answered();  // that was the last, or an error
    }
}

void MysqlSession::answered() {
    step_ = Step::nothing;
    if (const unsigned number = mysql_errno(connection_.get()); number != 0) {
        if (ends_connection(number)) return fail();
        reply_.error = {.code = std::to_string(number), .message = mysql_error(connection_.get())};
    }
    switch (stage_) {
        case Stage::greeting:
            return greeted();
        case Stage::hanging_bell:
            return bell_hung();
        case Stage::sleeping:
            return woken();
        case Stage::seat:
            if (!reply_.error) return seat_answered();
            stage_ = Stage::requests;
            break;
        case Stage::rolling_back:
            stage_ = Stage::requests;
            reply_.error = std::exchange(refusal_, std::nullopt);
            break;
        default:
            if (reply_.error) return roll_back();
            seat_.learn(asked_, reply_);
    }
    reply_whole_ = true;
}

/// What a failed request has locked is not to stay so until the next one, nor what it has set.
void MysqlSession::roll_back() {
    refusal_ = std::move(reply_.error);
    stage_ = Stage::rolling_back;
    send("ROLLBACK;SET time_zone='+00:00'," + lock_limits());
}

/// Of rows, and of all else: backups, ALTER TABLE. In whole seconds, as the server has them. A row
/// is waited for as little as may be, and then again, if there is time: meanwhile the connection is
/// free for the renewals of others.
std::string MysqlSession::lock_limits() const {
    using std::chrono::seconds;
    const auto limit = std::chrono::floor<seconds>(address_.lock_timeout());
    const std::string number = std::to_string(std::max(limit, seconds{1}).count());
    return "innodb_lock_wait_timeout=1,lock_wait_timeout=" + number;
}

/// Under another isolation than READ COMMITTED a statement after the lock would not see what was
/// done before it was had; where the client sleeps, it sees what is told before that is committed,
/// and locks nothing. A commit that starts another transaction would leave what comes after it
/// uncommitted. The server gives up before we do, and says why.
std::string MysqlSession::greeting() const {
    const std::string committed = listens() ? "UNCOMMITTED" : "COMMITTED";
    const std::string their_zone =
        role_.shedlock_zone.empty() ? "NULL" : "'" + role_.shedlock_zone + "'";
    return "SET SESSION TRANSACTION ISOLATION LEVEL READ " + committed +
           ",READ WRITE;SET @holdfast_their_zone=" + their_zone +
           ";SET "
           "autocommit=1,completion_type=0,time_zone='+00:00',sql_mode='STRICT_TRANS_TABLES'," +
           lock_limits() + ";SHOW VARIABLES LIKE 'wsrep_on'";
}

/// What the session where the client sleeps is found by, or what it waits for.
std::string MysqlSession::hanging_of_bell() const {
    std::string text;
    if (listens()) {
        append_call("hang_bell", {role_.client}, text);
    } else {
        text = "SELECT " + getting_of_awake();
    }
    return text;
}

/// Of the lock that the sleeper waits for: one session for requests has it.
std::string MysqlSession::getting_of_awake() const {
    return "GET_LOCK('holdfast_" + role_.client + "_awake',0)";
}

void MysqlSession::greeted() {
    if (reply_.error) return fail(meaning_of(*reply_.error, address_).failure);
    // In a Galera cluster a lock of GET_LOCK is known to its node alone: nobody sleeps by one, and
    // who waits looks by itself.
    const bool galera = !reply_.rows.empty() && reply_.rows.front().back() == "ON";
    if (galera) {
        state_ = State::idle;
        stage_ = Stage::requests;
        return;
    }
    stage_ = Stage::hanging_bell;
    send(hanging_of_bell());
}

void MysqlSession::bell_hung() {
    if (reply_.error) return fail(meaning_of(*reply_.error, address_).failure);
    const bool has_lock = !reply_.rows.empty() && reply_.rows.back().back() == "1";
    if (!has_lock && !listens()) look_for_awake_ = BootClock::now();
    // Without its lock nobody would find the sleeper.
    if (!has_lock && listens()) {
        return fail({errc::unreachable, Effect::none,
                     address_.shown() + ": an earlier connection of this client does not end"});
    }
    state_ = State::idle;
    stage_ = Stage::requests;
    if (!listens()) return;
    stage_ = Stage::sleeping;
    sleep_again();
}

/// An hour: what ends it earlier costs one query. What was seen is not told twice.
void MysqlSession::sleep_again() {
    std::string seen;
    for (const std::string& once : seen_) seen += (seen.empty() ? "" : ",") + once;
    std::string text;
    append_call("listen", {role_.client, seen, "3600"}, text);
    send(std::move(text));
}

void MysqlSession::woken() {
    if (reply_.error) {
        const auto [remedy, failure] = meaning_of(*reply_.error, address_);
        const bool passes =
            remedy == sql::Dialect::Remedy::again || remedy == sql::Dialect::Remedy::repeat;
        if (!passes) return fail(failure);
        // Mostly a query that was killed: somebody woke us. What is done about that goes first.
        pushes_.emplace_back(sql::woken_by_somebody);
        awake_ = true;
        return;
    }
    std::set<std::string> told;
    for (const auto& row : reply_.rows) {
        if (row.size() != 3) continue;
        const std::string once = row[0] + row[2];
        if (!seen_.contains(once)) pushes_.push_back(row[0] + " " + row[1]);
        told.insert(once);
    }
    seen_ = std::move(told);
    sleep_again();
}

void MysqlSession::ask(const sql::Call& call) {
    asked_ = call;
    state_ = State::busy;
    if (auto statement = seat_.statement_for(asked_)) {
        stage_ = Stage::seat;
        send(*std::move(statement));
    } else {
        this->call();
    }
    proceed(start_step());
}

void MysqlSession::call() {
    const bool alone = asked_.rows.size() == 1 && !asked_.shared;
    const bool renews_many = asked_.verb == "renew" && asked_.rows.size() > 1;
    std::string text = taking_of_awake();
    if (renews_many) text += patience_of(asked_.rows.front()[2]);
    if (!alone) text += "START TRANSACTION;SET @holdfast_stopped=FALSE;";
    for (std::vector<std::string> words : asked_.rows) {
        std::vector<std::string> names = {words.front(), words.back()};
        if (asked_.shared) {
            append_call("from_shedlock", names, text);
            words.pop_back();
        }
        words.emplace_back(alone ? "1" : "0");
        append_call(asked_.verb, words, text);
        if (asked_.shared) append_call("to_shedlock", names, text);
    }
    if (!alone) text += "COMMIT";
    send(std::move(text));
}

/// With those among them whose rows are locked: how long all waits for such rows may have lasted
/// when the last one begins. That one may last a second: too much of a short lease. And where the
/// server says so, whoever has waited in vain has undone the others.
std::string MysqlSession::patience_of(const std::string& lease) {
    return "SET @holdfast_patience=IF(" + lease +
           "<3000 OR @@GLOBAL.innodb_rollback_on_timeout,0,250000);";
}

/// Whoever has it may end. So the others try again, now and then; to have it twice does no harm.
std::string MysqlSession::taking_of_awake() {
    constexpr std::chrono::seconds pause{1};
    const Moment now = BootClock::now();
    if (!look_for_awake_ || now < *look_for_awake_) return {};
    look_for_awake_ = now + pause;
    return "DO " + getting_of_awake() + ";";
}

void MysqlSession::seat_answered() {
    stage_ = Stage::requests;
    if (mysql_affected_rows(connection_.get()) != 1) return call();
    reply_.rows.push_back(Seat::answer_to(asked_, mysql_insert_id(connection_.get())));
    reply_whole_ = true;
}

/// Those who make the same tables and procedures wait for each other.
void MysqlSession::run(std::string_view script) {
    state_ = State::busy;
    std::string text = "SET lock_wait_timeout=30;" + std::string(script);
    text.erase(text.find_last_not_of("; \n") + 1);  // an empty statement is an error
    send(text + ";SET " + lock_limits());
    proceed(start_step());
}

std::vector<std::string> MysqlSession::take_pushes() {
    return std::exchange(pushes_, {});
}

}  // namespace holdfast::inline v0::mysql
