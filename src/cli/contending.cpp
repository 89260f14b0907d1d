#include "cli/contending.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/holdfast.hpp>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"

namespace holdfast::cli {
namespace {

constexpr int journal_descriptor = 3;
constexpr int own_threads = 3;

[[noreturn]] void fail(const char* what, int error = errno) {
    throw std::system_error(error, std::generic_category(), what);
}

/// Also where there is none: that is told when something is to be written there.
std::filesystem::path temporary_folder() {
    const char* const named = std::getenv("TMPDIR");
    return named != nullptr && *named != '\0' ? named : "/tmp";
}

/// So nothing is left of it, whatever becomes of us.
Descriptor nameless_file() {
    std::string path = temporary_folder() / "holdfast-verify-XXXXXX";
    const int descriptor = mkostemp(path.data(), O_CLOEXEC | O_APPEND);
    if (descriptor < 0) {
        const std::error_code why(errno, std::generic_category());
        throw Error(errc::bad_configuration,
                    path + ": what clients do cannot be written down there (" + why.message() +
                        "); set TMPDIR to a folder that can be written");
    }
    unlink(path.c_str());
    return Descriptor(descriptor);
}

/// Words, and behind them the URL as it is, whatever is in it.
std::string text_of(const ContendingOrders& orders) {
    const verify::Manner& manner = orders.manner;
    const verify::Abilities& can = manner.abilities;
    std::ostringstream words;
    words << orders.client << ' ' << orders.seed << ' ' << manner.prefix << ' ' << manner.mutexes
          << ' ' << can.shares << ' ' << can.permits << ' ' << can.several << ' ' << can.fences
          << ' ' << manner.shortest_lease.count() << ' ' << manner.longest_lease.count() << ' '
          << manner.moment.count() << ' ' << manner.long_one_in << ' '
          << manner.longest_hold.count() << ' ' << orders.store << '\0';
    return words.str();
}

std::chrono::milliseconds milliseconds_in(std::istream& words) {
    std::int64_t count = 0;
    words >> count;
    return std::chrono::milliseconds{count};
}

/// Without a client when it is nothing that we have written.
ContendingOrders orders_in(const std::string& text) {
    ContendingOrders orders;
    verify::Manner& manner = orders.manner;
    verify::Abilities& can = manner.abilities;
    std::istringstream words(text);
    words >> orders.client >> orders.seed >> manner.prefix >> manner.mutexes >> can.shares >>
        can.permits >> can.several >> can.fences;
    manner.shortest_lease = milliseconds_in(words);
    manner.longest_lease = milliseconds_in(words);
    manner.moment = milliseconds_in(words);
    words >> manner.long_one_in;
    manner.longest_hold = milliseconds_in(words);
    words.get();
    if (!words) return {};
    std::getline(words, orders.store, '\0');
    return orders;
}

/// From standard input, behind which there is nothing but its end.
std::string read_orders() {
    std::string text;
    for (char one = 0; read(STDIN_FILENO, &one, 1) == 1 && one != '\0';) text += one;
    return text;
}

bool input_has_ended(std::chrono::milliseconds limit) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, static_cast<int>(limit.count())) > 0;
}

/// What cannot be written down can only be said: the history has a hole there.
int tell(verify::Journal& journal, int code, const std::string& sentence) {
    try {
        journal.failed(code, sentence);
        return success;
    } catch (const std::exception& error) {
        say(error.what());
        return not_written;
    }
}

/// Patiently: one that comes while the store does not answer is no worse than one that was there.
std::optional<Client> connect_by(const ContendingOrders& orders, verify::Journal& journal) {
    constexpr std::chrono::milliseconds between_tries{100};
    do {
        try {
            return connect(orders.store);
        } catch (const Error& error) {
            const int told = tell(journal, error.code().value(), error.what());
            if (told != success) throw NotWritten{};
        }
    } while (!input_has_ended(between_tries));
    return std::nullopt;
}

int contend_on(const Client& client, verify::Journal& journal, const ContendingOrders& orders,
               int number, const std::stop_token& stop) {
    try {
        verify::Work none;
        const std::string who = orders.client + "/" + std::to_string(number) + "/";
        const auto seed = orders.seed + static_cast<std::uint64_t>(number);
        verify::Contention(client, journal, orders.manner, who, seed, none).run(stop);
        return success;
    } catch (const std::exception& error) {
        return tell(journal, 0, error.what());
    }
}

}  // namespace

ContendingProcess::ContendingProcess(const ContendingOrders& orders)
    : client_(orders.client), journal_(nameless_file()) {
    spawn(orders);
}

ContendingProcess::ContendingProcess(ContendingProcess&& other) noexcept
    : client_(std::move(other.client_)),
      pid_(std::exchange(other.pid_, -1)),
      journal_(std::move(other.journal_)),
      orders_(std::move(other.orders_)) {}

ContendingProcess& ContendingProcess::operator=(ContendingProcess&& other) noexcept {
    std::swap(client_, other.client_);
    std::swap(pid_, other.pid_);
    std::swap(journal_, other.journal_);
    std::swap(orders_, other.orders_);
    return *this;
}

ContendingProcess::~ContendingProcess() {
    if (pid_ < 0) return;
    signal(SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ContendingProcess::spawn(const ContendingOrders& orders) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("a pipe to a client");
    const Descriptor input(ends[0]);
    orders_ = Descriptor(ends[1]);
    const std::string text = text_of(orders);
    if (write(orders_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        fail("the orders of a client");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, journal_.get(), journal_descriptor);
    std::array<std::string, 3> words{"holdfast", "verify", contending_flag};
    std::array<char*, 4> pointers{words[0].data(), words[1].data(), words[2].data(), nullptr};
    // By this file, also when another one has its name by now.
    const int error =
        posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        pid_ = -1;
        fail("a client process", error);
    }
}

void ContendingProcess::signal(int number) const {
    // Of one that was reaped it is -1, which to kill(2) means every process there is.
    if (pid_ > 0) kill(pid_, number);
}

std::optional<int> ContendingProcess::ended(std::chrono::nanoseconds limit) {
    if (pid_ < 0) return std::nullopt;
    const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    pollfd end{process.get(), POLLIN, 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit);
    if (poll(&end, 1, static_cast<int>(milliseconds.count())) <= 0) return std::nullopt;
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
}

verify::History ContendingProcess::history() const {
    const std::array journal{
        std::filesystem::path("/proc/self/fd/" + std::to_string(journal_.get()))};
    return verify::read_history(journal);
}

int contend() {
    // One that stands still would not see that its input has ended.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const ContendingOrders orders = orders_in(read_orders());
    if (orders.client.empty() || fcntl(journal_descriptor, F_GETFD) < 0) {
        throw Error(errc::invalid_argument, "only holdfast verify itself gives such orders");
    }
    verify::Journal journal(journal_descriptor);
    const std::optional<Client> client = connect_by(orders, journal);
    if (!client) return success;
    std::atomic<int> code = success;
    const Event failed;
    {
        std::vector<std::jthread> threads;
        threads.reserve(own_threads);
        for (int i = 0; i < own_threads; ++i) {
            threads.emplace_back([&, i](const std::stop_token& stop) {
                const int ended = contend_on(*client, journal, orders, i, stop);
                if (ended == success) return;
                code = ended;
                failed.set();
            });
        }
        std::array<pollfd, 2> ends{pollfd{STDIN_FILENO, POLLIN, 0},
                                   pollfd{failed.descriptor(), POLLIN, 0}};
        while (poll(ends.data(), ends.size(), -1) < 0) continue;
    }
    return code;
}

}  // namespace holdfast::cli
