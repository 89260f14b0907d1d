#include "servers/pgbouncer.hpp"

#include <fstream>
#include <stdexcept>

#include "servers/postgres_server.hpp"
#include "support/await.hpp"
#include "support/guard.hpp"

namespace holdfast::test {

PgBouncer::PgBouncer(int server_port, const std::string& mode) {
    const std::string settings = folder_.path() / "pgbouncer.ini";
    std::ofstream(folder_.path() / "users") << "\"postgres\" \"\"\n";
    // As a pooler that drivers get on with is set up: it takes their parameters and drops them.
    std::ofstream(settings) << "[databases]\n* = host=127.0.0.1 port=" << server_port
                            << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port()
                            << "\nunix_socket_dir =\nauth_type = trust\nauth_file = "
                            << (folder_.path() / "users").string() << "\npool_mode = " << mode
                            << "\nignore_startup_parameters = options,extra_float_digits\n";
    give_to_unprivileged(folder_.path());
    std::vector<std::string> words{"sh", "-c", R"(log=$0; exec "$@" >>"$log" 2>&1 </dev/null)",
                                   folder_.path() / "log"};
    for (const std::string& word : as_unprivileged()) words.push_back(word);
    words.insert(words.end(), {"pgbouncer", settings});
    process_.emplace(std::move(words));
    guard_.emplace(guard_of(process_->pid(), folder_.path()));
    if (!await([&] { return static_cast<bool>(connect_to_port(port())); })) {
        throw std::runtime_error("pgbouncer takes no connection");
    }
}

PgBouncer::~PgBouncer() {
    guard_.reset();
    process_.reset();
}

}  // namespace holdfast::test
