#include "servers/pgbouncer.hpp"

#include <fstream>

#include "servers/postgres_server.hpp"

namespace holdfast::test {

PgBouncer::PgBouncer(int server_port, const std::string& mode) : ServerProcess("pgbouncer") {
    std::ofstream(file("users")) << "\"postgres\" \"\"\n";
    // As a pooler that drivers get on with is set up: it takes their parameters and drops them.
    std::ofstream(file("pgbouncer.ini"))
        << "[databases]\n* = host=127.0.0.1 port=" << server_port
        << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port()
        << "\nunix_socket_dir =\nauth_type = trust\nauth_file = " << file("users").string()
        << "\npool_mode = " << mode << "\nignore_startup_parameters = options,extra_float_digits\n";
    give_to_unprivileged(folder());
    start();
    await_serving();
}

std::string PgBouncer::url_through(int port) const {
    return "postgres://postgres@127.0.0.1:" + std::to_string(port) + "/postgres";
}

std::vector<std::string> PgBouncer::command_line() const {
    std::vector<std::string> words = as_unprivileged();
    words.insert(words.end(), {"pgbouncer", file("pgbouncer.ini")});
    return logged(std::move(words));
}

bool PgBouncer::serves() const {
    return static_cast<bool>(connect_to_port(port()));
}

}  // namespace holdfast::test
