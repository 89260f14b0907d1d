#pragma once

#include <string>
#include <vector>

#include "servers/server_process.hpp"

namespace holdfast::test {

/// A real PgBouncer before a PostgreSQL, taking connections when the constructor returns. As root
/// it runs as nobody.
class PgBouncer : public ServerProcess {
public:
    /// `mode`: "session", "transaction" or "statement".
    PgBouncer(int server_port, const std::string& mode);

    std::string url_through(int port) const override;

private:
    std::vector<std::string> command_line() const override;
    bool serves() const override;
};

}  // namespace holdfast::test
