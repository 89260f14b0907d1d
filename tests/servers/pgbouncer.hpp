#pragma once

#include <optional>
#include <string>

#include "support/child.hpp"
#include "support/loopback.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {

/// A real PgBouncer on loopback before a PostgreSQL, taking connections when the constructor
/// returns. As root it runs as nobody.
class PgBouncer {
public:
    /// `mode`: "session", "transaction" or "statement".
    PgBouncer(int server_port, const std::string& mode);
    ~PgBouncer();
    PgBouncer(const PgBouncer&) = delete;
    PgBouncer& operator=(const PgBouncer&) = delete;

    int port() const { return port_.number(); }

private:
    TemporaryFolder folder_;
    LoopbackPort port_;
    std::optional<Child> process_;
    std::optional<Child> guard_;  ///< ends it when this process has ended without doing so
};

}  // namespace holdfast::test
