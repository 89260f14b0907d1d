// Read, change and write in a database that refuses a late one by itself: each row keeps the
// highest fence that came to it. Whoever comes raises it first, and reads only then: so one that
// was stopped between its read and its write, as by a debugger or a machine that suspends, is
// refused as soon as the next holder has begun, and neither loses what the other wrote.
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <holdfast/holdfast.hpp>
#include <holdfast/sql_fence.hpp>

namespace {

using namespace std::chrono_literals;

class Accounts {
public:
    explicit Accounts(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
        run("CREATE TABLE IF NOT EXISTS accounts"
            " (id int PRIMARY KEY, balance int NOT NULL, fence bigint NOT NULL DEFAULT 0)");
        run("INSERT INTO accounts VALUES (42, 100) ON CONFLICT DO NOTHING");
    }

    /// Raises the fence, and only then reads. Nothing when somebody with a newer fence was here.
    std::optional<int> begin(std::uint64_t fence) {
        fence_ = std::to_string(fence);
        run(statements_.raise(), {fence_, "42"});
        const auto row = run(statements_.read("balance"), {fence_, "42"});
        if (PQntuples(row.get()) == 0) return std::nullopt;
        return std::stoi(PQgetvalue(row.get(), 0, 0));
    }
    /// False when somebody with a newer fence was here meanwhile: nothing is changed then.
    bool set_balance(int balance) {
        const auto done =
            run(statements_.write("balance = $3"), {fence_, "42", std::to_string(balance)});
        return std::string(PQcmdTuples(done.get())) == "1";
    }

private:
    using Answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

    Answer run(const std::string& statement, const std::vector<std::string>& parameters = {}) {
        std::vector<const char*> values;
        for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
        Answer answer(
            PQexecParams(connection_.get(), statement.c_str(), static_cast<int>(values.size()),
                         nullptr, values.data(), nullptr, nullptr, 0),
            PQclear);
        const auto status = PQresultStatus(answer.get());
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
            throw std::runtime_error(PQerrorMessage(connection_.get()));
        }
        return answer;
    }

    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
    const holdfast::SqlFence statements_{holdfast::SqlDialect::postgres, "accounts"};
    std::string fence_;
};

/// Ends with 0 when what it wrote late was refused.
int pay_in_late(const std::string& url) {
    auto client = holdfast::connect(url);
    const auto hold = client.mutex("accounts/42", {.lease = 1s}).acquire();
    Accounts accounts(url);
    const auto balance = accounts.begin(hold.fence());
    std::raise(SIGSTOP);
    const bool written = balance && accounts.set_balance(*balance + 50);
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
    if (late_one == 0) return pay_in_late(url);
    int status = 0;
    waitpid(late_one, &status, WUNTRACED);
    if (!WIFSTOPPED(status)) return 1;

    auto client = holdfast::connect(url);
    const auto hold = client.mutex("accounts/42").acquire();
    Accounts accounts(url);
    const auto balance = accounts.begin(hold.fence());
    // The late one goes on when this one has read, and not yet written.
    kill(late_one, SIGCONT);
    waitpid(late_one, &status, 0);
    const bool written = balance && accounts.set_balance(*balance + 20);
    std::cout << "the next one: " << (written ? "written" : "refused") << ", fence " << hold.fence()
              << std::endl;
    return written && status == 0 ? 0 : 1;
}
