// A late write that the database itself refuses: each row keeps the fence of its last writer, and
// an update with an older one finds no row. The holder here is stopped past its lease, as by a
// debugger or a machine that suspends, and writes as soon as it runs again.
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include <holdfast/holdfast.hpp>

namespace {

using namespace std::chrono_literals;

class Accounts {
public:
    explicit Accounts(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
        run("CREATE TABLE IF NOT EXISTS accounts"
            " (id int PRIMARY KEY, balance int NOT NULL, fence bigint NOT NULL DEFAULT 0);"
            "INSERT INTO accounts VALUES (42, 0) ON CONFLICT DO NOTHING");
    }

    /// False when somebody with a newer fence has written: nothing is changed then.
    bool set_balance(int balance, std::uint64_t fence) {
        const std::string number = std::to_string(fence);
        return run("UPDATE accounts SET balance = " + std::to_string(balance) +
                   ", fence = " + number + " WHERE id = 42 AND fence <= " + number) == "1";
    }

private:
    std::string run(const std::string& statements) {
        const std::unique_ptr<PGresult, decltype(&PQclear)> result(
            PQexec(connection_.get(), statements.c_str()), PQclear);
        if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
            throw std::runtime_error(PQerrorMessage(connection_.get()));
        }
        return PQcmdTuples(result.get());
    }

    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

/// Ends with 0 when its late write was refused.
int write_late(const std::string& url) {
    auto client = holdfast::connect(url);
    const auto hold = client.mutex("accounts/42", {.lease = 1s}).acquire();
    Accounts accounts(url);
    std::raise(SIGSTOP);
    const bool written = accounts.set_balance(1, hold.fence());
    std::cout << "the late one: " << (written ? "written" : "refused") << ", fence " << hold.fence()
              << std::endl;
    return written ? 1 : 0;
}

}  // namespace

/// Takes a postgres:// URL.
int main(int count, char** words) {
    if (count != 2) return 64;
    const std::string url = words[1];
    const pid_t late_one = fork();
    if (late_one == 0) return write_late(url);
    int status = 0;
    waitpid(late_one, &status, WUNTRACED);
    if (!WIFSTOPPED(status)) return 1;

    auto client = holdfast::connect(url);
    const auto hold = client.mutex("accounts/42").acquire();
    const bool written = Accounts(url).set_balance(2, hold.fence());
    std::cout << "the next one: " << (written ? "written" : "refused") << ", fence " << hold.fence()
              << std::endl;
    kill(late_one, SIGCONT);
    waitpid(late_one, &status, 0);
    return written && status == 0 ? 0 : 1;
}
