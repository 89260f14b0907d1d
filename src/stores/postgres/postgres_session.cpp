#include "stores/postgres/postgres_session.hpp"

#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "stores/postgres/failures.hpp"
#include "stores/postgres/postgres_scripts.hpp"
#include "stores/postgres/schema_name.hpp"
#include "stores/sql/failures.hpp"

namespace holdfast::inline v0::postgres {

namespace {

using Words = std::vector<std::string>;

std::string numeric_host_of(const net::Endpoint& endpoint) {
    std::array<char, NI_MAXHOST> host{};
    getnameinfo(reinterpret_cast<const sockaddr*>(&endpoint.storage), endpoint.size, host.data(),
                host.size(), nullptr, 0, NI_NUMERICHOST);
    return host.data();
}

/// Of an array as the server writes it: {a,"",c}. Our words need no escapes.
Words words_in(std::string_view array) {
    Words words;
    if (array.size() < 2) return words;
    std::string_view rest = array.substr(1, array.size() - 2);
    for (;;) {
        const auto comma = rest.find(',');
        std::string_view word = rest.substr(0, comma);
        if (word.starts_with('"')) word = word.substr(1, word.size() - 2);
        words.emplace_back(word);
        if (comma == std::string_view::npos) return words;
        rest.remove_prefix(comma + 1);
    }
}

/// A column of rows, as an array.
std::string array_of(const std::vector<Words>& rows, std::size_t column) {
    std::string array = "{";
    for (const Words& row : rows) {
        if (array.size() > 1) array += ',';
        array += '"' + row[column] + '"';
    }
    return array + "}";
}

/// "SELECT holdfast_01234567_enter("
std::string function_of(const sql::Call& call) {
    const std::string before = "SELECT " + std::string(scripts::prefix);
    if (call.shared) return before + "beside_shedlock('" + call.verb + "',";
    return before + call.verb + (call.rows.size() == 1 ? "(" : "_all(");
}

/// "SELECT holdfast_01234567_enter($1,$2)"
std::string text_of(const sql::Call& call) {
    std::string text = function_of(call);
    for (std::size_t i = 1; i <= call.rows.front().size(); ++i) {
        if (i > 1) text += ',';
        text += '$' + std::to_string(i);
    }
    return text + ")";
}

/// For libpq, which wants names and values of parameters as two lists that end with a null.
struct Parameters {
    std::vector<const char*> names;
    std::vector<std::string> values;

    void add(const char* name, std::string value) {
        names.push_back(name);
        values.push_back(std::move(value));
    }
};

/// Spaces separate them.
std::string escaped_for_options(std::string_view value) {
    std::string text;
    for (const char c : value) {
        if (c == ' ' || c == '\\') text += '\\';
        text += c;
    }
    return text;
}

/// READ COMMITTED, whatever the database's default: under the others a statement after the lock
/// would not see what was done before it was had. The server gives up before we do, and says why.
/// Its warnings are asked for because of one: see take_notice().
std::string settings(const Address& address) {
    const auto lock_timeout = address.lock_timeout();
    const std::string limit = std::to_string((lock_timeout + lock_timeout / 4).count());
    return "-c search_path=" + escaped_for_options(search_path_of(address.schema)) +
           " -c default_transaction_isolation=read\\ committed -c default_transaction_read_only=off"
           " -c lock_timeout=" +
           std::to_string(lock_timeout.count()) + " -c statement_timeout=" + limit +
           " -c client_min_messages=warning -c idle_in_transaction_session_timeout=" + limit;
}

Parameters parameters_for(const Address& address, const std::string& numeric_host) {
    Parameters parameters;
    parameters.add("host", address.host);
    parameters.add("hostaddr", numeric_host);
    parameters.add("port", std::to_string(address.port));
    parameters.add("dbname", address.database);
    parameters.add("user", address.user);
    // Never a password file of libpq's own: what is not in the URL was not meant.
    parameters.add("passfile", "/dev/null/none");
    if (!address.password.empty()) parameters.add("password", address.password);
    parameters.add("application_name", "holdfast");
    parameters.add("options", settings(address));
    parameters.add("client_encoding", "UTF8");
    // It would ask for tickets of Kerberos each time, which may block, in a library whose end at
    // exit() a thread of ours must not meet.
    parameters.add("gssencmode", "disable");
    // A peer that is gone without a word is noticed by the kernel: no query is spent on it.
    parameters.add("keepalives_idle", "2");
    parameters.add("keepalives_interval", "1");
    parameters.add("keepalives_count", "3");
    parameters.add("tcp_user_timeout", std::to_string(address.request_timeout.count()));
    if (address.reach != net::Address::Reach::tls) {
        parameters.add("sslmode", "disable");
        return parameters;
    }
    parameters.add("sslmode", "verify-full");
    parameters.add("sslrootcert",
                   address.tls_ca.empty() ? "/etc/ssl/certs/ca-certificates.crt" : address.tls_ca);
    parameters.add("sslcert", address.tls_cert);
    parameters.add("sslkey", address.tls_key);
    return parameters;
}

}  // namespace

PostgresSession::PostgresSession(const Address& address, std::string channel,
                                 std::function<void()> resolved)
    : address_(address),
      channel_(std::move(channel)),
      open_until_(BootClock::now() + address.connect_timeout) {
    resolution_.emplace(address_, std::move(resolved));
    resolve();
}

int PostgresSession::descriptor() const noexcept {
    return connection_ ? PQsocket(connection_.get()) : -1;
}

std::string PostgresSession::message() const {
    std::string text = PQerrorMessage(connection_.get());
    while (!text.empty() && text.back() == '\n') text.pop_back();
    // Where in the server's own source it was is of no use to anybody here.
    const auto last_line = text.rfind('\n');
    if (last_line != text.npos && text.find(".c:", last_line) != text.npos) text.resize(last_line);
    for (char& c : text) {
        if (c == '\n' || c == '\t') c = ' ';
    }
    return text;
}

/// While it is opening, another address may do better. That one lets us not in says more than that
/// another does not answer.
void PostgresSession::fail(Failure failure) {
    const bool says_more = trouble_.sentence.empty() || failure.code == errc::bad_configuration;
    if (state_ != State::opening || says_more) trouble_ = std::move(failure);
    wanted_ = 0;
    if (state_ != State::opening || hosts_.empty()) {
        state_ = State::broken;
        return;
    }
    connection_.reset();
    greeting_ = false;
    next_address_at_ = BootClock::now();
}

void PostgresSession::resolve() {
    const auto found = resolution_->result();
    if (!found) return;
    if (!found->ok()) return fail(found->failure());
    for (const net::Endpoint& endpoint : found->value()) {
        hosts_.insert(hosts_.begin(), numeric_host_of(endpoint));
    }
    resolution_.reset();
    try_next_address();
}

void PostgresSession::try_next_address() {
    const std::string host = std::move(hosts_.back());
    const auto left = std::max(open_until_ - BootClock::now(), std::chrono::nanoseconds{0});
    next_address_at_.reset();
    if (hosts_.size() > 1) {
        next_address_at_ = BootClock::now() + left / static_cast<int>(hosts_.size());
    }
    hosts_.pop_back();
    start(host);
}

void PostgresSession::start(const std::string& numeric_host) {
    host_ = numeric_host;
    Parameters parameters = parameters_for(address_, numeric_host);
    std::vector<const char*> values;
    for (const std::string& value : parameters.values) values.push_back(value.c_str());
    parameters.names.push_back(nullptr);
    values.push_back(nullptr);
    connection_.reset(PQconnectStartParams(parameters.names.data(), values.data(), 0));
    if (!connection_ || PQstatus(connection_.get()) == CONNECTION_BAD) {
        return fail(refused_connection(connection_ ? message() : "out of memory", address_));
    }
    PQsetNoticeReceiver(connection_.get(), take_notice, this);
    // It says the code too then, which has no language.
    PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);
    wanted_ = POLLOUT;
}

void PostgresSession::advance() {
    if (resolution_) return resolve();
    if (state_ == State::broken) return;
    if (next_address_at_ && BootClock::now() >= *next_address_at_) {
        if (connection_) fail(sql::lost_connection("no answer from " + host_, address_));
        return try_next_address();
    }
    if (!connection_) return;
    if (state_ == State::opening && !greeting_) return poll_connection();
    receive();
}

void PostgresSession::poll_connection() {
    pollfd ready{.fd = descriptor(), .events = wanted_, .revents = 0};
    if (poll(&ready, 1, 0) <= 0) return;
    switch (PQconnectPoll(connection_.get())) {
        case PGRES_POLLING_READING:
            wanted_ = POLLIN;
            break;
        case PGRES_POLLING_WRITING:
            wanted_ = POLLOUT;
            break;
        case PGRES_POLLING_OK:
            return greet();
        default:
            fail(refused_connection(message(), address_));
    }
}

/// Asks which process serves this session: what stands between gives another number at the start.
/// And has commits wait for the disk where somebody has turned that off: a crash would undo what
/// was answered.
void PostgresSession::greet() {
    PQsetnonblocking(connection_.get(), 1);
    PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
    greeting_ = true;
    std::string text =
        "SELECT pg_backend_pid()::text;SELECT set_config('synchronous_commit','on',false)"
        " WHERE current_setting('synchronous_commit')='off'";
    if (!channel_.empty()) text = "LISTEN " + channel_ + ";" + text;
    sent(PQsendQuery(connection_.get(), text.c_str()));
}

void PostgresSession::greeted() {
    greeting_ = false;
    reply_whole_ = false;
    if (reply_.error) {
        return fail(meaning_of(*std::exchange(reply_.error, std::nullopt), address_).failure);
    }
    const std::string serving = reply_.rows.empty() ? "" : reply_.rows.front().front();
    if (serving != std::to_string(PQbackendPID(connection_.get()))) {
        return fail(refused_connection("pgbouncer, or another pooler, stands between", address_));
    }
    state_ = State::idle;
    next_address_at_.reset();
}

/// What is asked more than once is prepared: that takes a round trip, and spares the server to read
/// and plan it each time.
void PostgresSession::ask(const sql::Call& call) {
    state_ = State::busy;
    const auto [function, is_new] = prepared_.try_emplace(function_of(call), false);
    if (is_new || function->second) return send(call);
    to_send_ = call;
    sent(PQsendPrepare(connection_.get(), function_of(call).c_str(), text_of(call).c_str(), 0,
                       nullptr));
}

void PostgresSession::send(const sql::Call& call) {
    const auto count = static_cast<int>(call.rows.front().size());
    Words arrays;
    std::vector<const char*> values;
    if (call.rows.size() > 1) {
        for (std::size_t i = 0; i < call.rows.front().size(); ++i) {
            arrays.push_back(array_of(call.rows, i));
        }
    }
    const Words& words = call.rows.size() > 1 ? arrays : call.rows.front();
    for (const std::string& word : words) values.push_back(word.c_str());
    const std::string function = function_of(call);
    sent(prepared_[function] ? PQsendQueryPrepared(connection_.get(), function.c_str(), count,
                                                   values.data(), nullptr, nullptr, 0)
                             : PQsendQueryParams(connection_.get(), text_of(call).c_str(), count,
                                                 nullptr, values.data(), nullptr, nullptr, 0));
}

void PostgresSession::prepared() {
    const sql::Call call = *std::exchange(to_send_, std::nullopt);
    if (reply_.error) return;
    prepared_[function_of(call)] = true;
    send(call);
}

void PostgresSession::run(std::string_view script) {
    state_ = State::busy;
    sent(PQsendQuery(connection_.get(), std::string(script).c_str()));
}

void PostgresSession::sent(int accepted) {
    reply_ = {};
    reply_whole_ = false;
    if (accepted == 0) return fail(sql::lost_connection(message(), address_));
    flush();
}

void PostgresSession::flush() {
    const int left = PQflush(connection_.get());
    if (left < 0) return fail(sql::lost_connection(message(), address_));
    wanted_ = static_cast<short>(left > 0 ? POLLIN | POLLOUT : POLLIN);
}

/// Where somebody cancels a commit that waits for a replica, the server answers as if it had
/// waited, and warns. By what function of its own it does, in no language, is the sign of that: the
/// code is that of all warnings.
void PostgresSession::take_notice(void* session, const PGresult* notice) {
    const char* const source = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (source == nullptr || std::string_view(source) != "SyncRepWaitForLSN") return;
    static_cast<PostgresSession*>(session)->is_unconfirmed_ = true;
}

void PostgresSession::receive() {
    if ((wanted_ & POLLOUT) != 0) flush();
    if (!connection_ || state_ == State::broken) return;
    if (PQconsumeInput(connection_.get()) == 0)
        return fail(sql::lost_connection(message(), address_));
    const bool expects = state_ == State::busy || greeting_;
    while (expects && !reply_whole_ && PQisBusy(connection_.get()) == 0) {
        const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQgetResult(connection_.get()),
                                                                   PQclear);
        if (result) {
            take_result(*result);
        } else {
            reply_whole_ = true;
            // What is sent again writes again, and waits for that with all before it.
            if (is_unconfirmed_) return fail(unconfirmed_commit(address_));
        }
        if (!connection_ || state_ == State::broken) return;
    }
    if (greeting_ && reply_whole_) return greeted();
    if (to_send_ && reply_whole_) prepared();
}

void PostgresSession::take_result(const PGresult& result) {
    const ExecStatusType status = PQresultStatus(&result);
    if (status == PGRES_TUPLES_OK) {
        for (int i = 0; i < PQntuples(&result) && PQnfields(&result) > 0; ++i) {
            const std::string_view value = PQgetvalue(&result, i, 0);
            reply_.rows.push_back(value.starts_with('{') ? words_in(value)
                                                         : Words{std::string(value)});
        }
    } else if (status != PGRES_COMMAND_OK && !reply_.error) {
        const auto field = [&](int which) -> std::string {
            const char* const text = PQresultErrorField(&result, which);
            return text == nullptr ? "" : text;
        };
        reply_.error = {.code = field(PG_DIAG_SQLSTATE), .message = field(PG_DIAG_MESSAGE_PRIMARY)};
        // Without a code it is libpq that speaks: the connection is gone.
        if (reply_.error->code.empty() || ends_connection(reply_.error->code)) {
            fail(sql::lost_connection(message(), address_));
        }
    }
}

std::vector<std::string> PostgresSession::take_pushes() {
    std::vector<std::string> pushes;
    if (channel_.empty() || !connection_) return pushes;
    while (PGnotify* const notify = PQnotifies(connection_.get())) {
        pushes.emplace_back(notify->extra);
        PQfreemem(notify);
    }
    return pushes;
}

}  // namespace holdfast::inline v0::postgres
