#include "stores/mysql/connecting.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "port/clock.hpp"
#include "port/thread.hpp"
#include "stores/mysql/failures.hpp"
#include "stores/sql/failures.hpp"

namespace holdfast::inline v0::mysql {

using namespace std::chrono_literals;

namespace {

/// How long whoever gives up waits for one that is told so, and may be looking up a name.
constexpr auto farewell = 50ms;
/// Whatever the library believes: it then comes to wait() before it reads.
void stop_blocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

/// What has come, before anybody has read of it, is no packet that a server begins with: its
/// length, the number nought, and the version of the protocol or the mark of an error. What is too
/// short to tell passes.
bool is_no_greeting(int descriptor) {
    std::array<unsigned char, 5> begin{};
    const ssize_t size = recv(descriptor, begin.data(), begin.size(), MSG_PEEK | MSG_DONTWAIT);
    if (size < static_cast<ssize_t>(begin.size())) return false;
    constexpr unsigned char protocol = 10;
    constexpr unsigned char refusal = 255;
    const bool is_short = begin[2] == 0;
    return !is_short || begin[3] != 0 || (begin[4] != protocol && begin[4] != refusal);
}

/// Why a connection did not come about.
int error_of(int descriptor) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? ECONNRESET : error;
}

[[noreturn]] void no_room(const sql::Address& address, const std::string& what) {
    throw Error(errc::unreachable, address.shown() + ": no " + what + " is left to connect with");
}

}  // namespace

struct Connecting::State {
    State(const sql::Address& to, std::function<void()> when_done)
        : address(to), done(std::move(when_done)) {
        if (given_up < 0) no_room(address, "descriptor");
    }
    ~State() { close(given_up); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    const sql::Address address;
    const std::function<void()> done;
    const Moment deadline = BootClock::now() + address.connect_timeout;
    const int given_up = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    // The thread's own.
    Moment attempt_until = deadline;
    bool given_time = true;  ///< nothing was cut short
    MYSQL* attempt = nullptr;
    bool another_kind = false;  ///< it is no such server

    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    bool abandoned = false;
    std::optional<Result<Connection>> result;

    void run();
    int wait(int descriptor, bool for_reading);
    bool is_secured() const { return address.reach == net::Address::Reach::tls; }
    std::vector<std::string> hosts() const;
    Result<Connection> connect();
    Result<Connection> connect_to(const std::string& host);
    void set_options(MYSQL* mysql) const;
};

namespace {

/// Whose thread this is: the library's callback has no argument of its own. Nothing that would have
/// to be destroyed.
thread_local Connecting::State* connecting_here = nullptr;

/// TLS reads by itself, and is to come back to wait() too. The library has the socket block when it
/// begins, and where the server's greeting had come before anybody waited for it, nothing else
/// would take that back.
void handshake_moves(const SSL* tls, int where, int /*outcome*/) {
    if ((where & SSL_CB_HANDSHAKE_START) != 0) stop_blocking(SSL_get_fd(tls));
}

/// OpenSSL tells of every connection by TLS that is made, whoever makes it.
void tls_is_made(void* tls, void* /*value*/, CRYPTO_EX_DATA* /*data*/, int /*index*/,
                 long /*number*/, void* /*context*/) {
    if (connecting_here == nullptr) return;
    SSL_set_info_callback(static_cast<SSL*>(tls), handshake_moves);
}

}  // namespace

/// Whatever the library waits for while it connects, it waits for here: so there is one deadline
/// for all of it, and it comes back before the program ends, and the library with that. Where it
/// tries the addresses of a name, one that does not answer has half of the time that is left.
int Connecting::State::wait(int descriptor, bool for_reading) {
    stop_blocking(descriptor);
    const auto left = attempt_until - BootClock::now();
    const auto share = for_reading || !is_secured() ? left : left / 2;
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(share).count();
    const short events = for_reading ? POLLIN : POLLOUT;
    std::array<pollfd, 3> polled{pollfd{descriptor, events, 0}, pollfd{given_up, POLLIN, 0},
                                 pollfd{end_of_program(), POLLIN, 0}};
    const int ready = limit <= 0 ? 0 : poll(polled.data(), polled.size(), static_cast<int>(limit));
    const bool unwanted = polled[1].revents != 0 || polled[2].revents != 0;
    const bool refused = !for_reading && (polled[0].revents & (POLLERR | POLLHUP)) != 0;
    // Nothing is known of the server before its greeting was read.
    another_kind = for_reading && ready > 0 && mysql_get_server_info(attempt) == nullptr &&
                   is_no_greeting(descriptor);
    if (another_kind) return 0;  // the library would wait for all of what looks like a length
    if (ready > 0 && polled[0].revents != 0 && !refused && !unwanted) return 1;
    if (refused) {
        errno = error_of(descriptor);  // else the library tells that it was under way
        return 0;
    }
    given_time = false;
    errno = ETIMEDOUT;
    return 0;
}

/// The addresses of the host; its name alone where a certificate is to be for that: then the
/// library tries them, but goes on to the next only while it is not connected.
std::vector<std::string> Connecting::State::hosts() const {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const bool looked_up =
        !is_secured() && getaddrinfo(address.host.c_str(), nullptr, &hints, &list) == 0;
    if (!looked_up) return {address.host};
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
    std::vector<std::string> found;
    for (; list != nullptr; list = list->ai_next) {
        std::array<char, NI_MAXHOST> number{};
        getnameinfo(list->ai_addr, list->ai_addrlen, number.data(), number.size(), nullptr, 0,
                    NI_NUMERICHOST);
        found.emplace_back(number.data());
    }
    return found;
}

void Connecting::State::set_options(MYSQL* mysql) const {
    mysql_options(mysql, MYSQL_OPT_NONBLOCK, nullptr);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(address.connect_timeout);
    const auto timeout = static_cast<unsigned>(seconds.count());
    mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout);
    int (*const wait_here)(my_socket, my_bool, int) = [](my_socket descriptor, my_bool for_reading,
                                                         int /*timeout*/) {
        return connecting_here->wait(descriptor, for_reading != 0);
    };
    mysql_options(mysql, MARIADB_OPT_IO_WAIT, reinterpret_cast<const void*>(wait_here));
    const unsigned protocol = MYSQL_PROTOCOL_TCP;
    mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!is_secured()) return;
    const auto file = [](const std::string& name) { return name.empty() ? nullptr : name.c_str(); };
    mysql_ssl_set(mysql, file(address.tls_key), file(address.tls_cert), file(address.tls_ca),
                  nullptr, nullptr);
    const my_bool verified = 1;
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &verified);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verified);
}

/// Each has half of the time that is left, and the last all of it. That one does not let us in says
/// more than that another does not answer.
Result<Connection> Connecting::State::connect() {
    const auto tried = hosts();
    std::optional<Failure> trouble;
    for (std::size_t i = 0; i < tried.size(); ++i) {
        const Moment now = BootClock::now();
        const bool last = i + 1 == tried.size();
        attempt_until = last ? deadline : now + (deadline - now) / 2;
        auto outcome = connect_to(tried[i]);
        if (outcome.ok()) return outcome;
        const bool says_more = outcome.failure().code == errc::bad_configuration;
        if (!trouble || says_more) trouble = outcome.failure();
        if (says_more) break;
    }
    return trouble.value_or(sql::late_connection(address));
}

Result<Connection> Connecting::State::connect_to(const std::string& host) {
    Connection connection{mysql_init(nullptr), mysql_close};
    MYSQL* const mysql = connection.get();
    if (mysql == nullptr) return sql::late_connection(address);
    set_options(mysql);
    attempt = mysql;
    given_time = true;
    const bool connected =
        mysql_real_connect(mysql, host.c_str(), address.user.c_str(), address.password.c_str(),
                           address.database.c_str(), address.port, nullptr,
                           CLIENT_MULTI_STATEMENTS | CLIENT_MULTI_RESULTS) != nullptr;
    if (connected) {
        mysql_options(mysql, MARIADB_OPT_IO_WAIT, nullptr);
        return connection;
    }
    if (another_kind) return sql::another_kind_of_server("MySQL", "no greeting", address);
    if (!given_time) return sql::late_connection(address);
    return refused_connection(mysql_errno(mysql), mysql_error(mysql), address);
}

void Connecting::State::run() {
    connecting_here = this;
    auto outcome = connect();
    bool wanted = false;
    {
        const std::lock_guard guard(mutex);
        wanted = !abandoned;
        ended = true;
        // Of one that nobody wants, the connection ends here.
        if (wanted) result = std::move(outcome);
    }
    changed.notify_all();
    if (wanted) done();
}

namespace {

/// What the library sets up once is not for several threads at a time.
void set_up_library() {
    [[maybe_unused]] static const int done = mysql_library_init(0, nullptr, nullptr);
    [[maybe_unused]] static const int told =
        SSL_get_ex_new_index(0, nullptr, tls_is_made, nullptr, nullptr);
}

}  // namespace

Connecting::Connecting(const sql::Address& address, std::function<void()> done)
    : state_(std::make_shared<State>(address, std::move(done))),
      thread_(start_thread("hf-mysql", [state = state_] {
          set_up_library();
          state->run();
      })) {}

Connecting::~Connecting() {
    std::unique_lock lock(state_->mutex);
    state_->abandoned = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto told = write(state_->given_up, &one, sizeof one);
    const bool ended = state_->changed.wait_for(lock, farewell, [&] { return state_->ended; });
    lock.unlock();
    if (ended) {
        thread_.join();
    } else {
        thread_.detach();
    }
}

std::optional<Result<Connection>> Connecting::take() {
    const std::lock_guard guard(state_->mutex);
    return std::exchange(state_->result, std::nullopt);
}

}  // namespace holdfast::inline v0::mysql
