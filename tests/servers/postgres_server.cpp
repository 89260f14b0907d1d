#include "servers/postgres_server.hpp"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "servers/data_template.hpp"
#include "support/process_wide.hpp"

namespace holdfast::test {

std::vector<std::string> as_unprivileged() {
    if (getuid() != 0) return {};
    return {"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"};
}

void give_to_unprivileged(const std::filesystem::path& path) {
    if (getuid() == 0) run_to_end("chown -R nobody:nogroup '" + path.string() + "'");
}

namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += word + " ";
    return text;
}

const std::string usual_access =
    "local all all trust\nhost all postgres all trust\nhost all all all scram-sha-256\n";

const std::string programs = HOLDFAST_TEST_POSTGRES_PROGRAMS;

/// Made where the unprivileged user may write, and then kept in the build folder.
void make_template(const std::filesystem::path& target) {
    const TemporaryFolder place;
    give_to_unprivileged(place.path());
    run_to_end(joined(as_unprivileged()) + programs + "/initdb -D '" + place.path().string() +
               "/data' -A trust -U postgres -N --locale=C -E UTF8 --wal-segsize=1");
    run_to_end("cp -a '" + place.path().string() + "/data' '" + target.string() + "'");
}

}  // namespace

PostgresServer::PostgresServer(PostgresOptions options)
    : ServerProcess("postgres", options.durable ? Medium::disk : Medium::quickest),
      options_(std::move(options)) {
    if (options_.tls) {
        const Certificate& own_certificate = certificates().server;
        std::filesystem::copy_file(own_certificate.certificate, file("server.crt"));
        std::filesystem::copy_file(own_certificate.key, file("server.key"));
        std::filesystem::permissions(file("server.key"), std::filesystem::perms::owner_read);
    }
    std::ofstream(file("log")) << "";
    std::ofstream(file("access")) << usual_access;
    make_and_start();
    await_serving();
}

void PostgresServer::make_data() const {
    if (options_.replica_of != nullptr) {
        const PostgresServer& master = *options_.replica_of;
        give_to_unprivileged(folder());
        run_to_end(joined(as_unprivileged()) + programs + "/pg_basebackup -h '" +
                   master.folder().string() + "' -p " + std::to_string(master.port()) +
                   " -U postgres -D '" + file("data").string() + "' -R -c fast");
        return;
    }
    const auto made = data_template("postgres", make_template);
    run_to_end("cp -a '" + made.string() + "' '" + file("data").string() + "'");
    give_to_unprivileged(folder());
}

PostgresServer& PostgresServer::shared() {
    return ProcessWide<PostgresServer>::get();
}

std::vector<std::string> PostgresServer::command_line() const {
    std::vector<std::string> words = as_unprivileged();
    words.insert(words.end(), options_.under.begin(), options_.under.end());
    words.insert(words.end(),
                 {programs + "/postgres", "-D", file("data").string(), "-p", std::to_string(port()),
                  "-k", folder().string(), "-c", "listen_addresses=127.0.0.1", "-c",
                  "max_connections=300", "-c", "hba_file=" + file("access").string()});
    if (!options_.durable) words.insert(words.end(), {"-c", "fsync=off"});
    if (options_.tls) {
        words.insert(words.end(),
                     {"-c", "ssl=on", "-c", "ssl_cert_file=" + file("server.crt").string(), "-c",
                      "ssl_key_file=" + file("server.key").string()});
    }
    for (const std::string& setting : options_.settings) {
        words.insert(words.end(), {"-c", setting});
    }
    return logged(std::move(words));
}

bool PostgresServer::serves() const {
    const std::string command =
        programs + "/pg_isready -q -h '" + folder().string() + "' -p " + std::to_string(port());
    return std::system(command.c_str()) == 0;
}

std::string PostgresServer::url_through(int port) const {
    return "postgres://postgres@127.0.0.1:" + std::to_string(port) + "/postgres";
}

std::string PostgresServer::tls_url() const {
    return url() + "?tls_ca=" + certificates().authority.certificate.string();
}

std::string PostgresServer::query(const std::string& statement) const {
    return said_by({programs + "/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
                    folder().string(), "-p", std::to_string(port()), "-U", "postgres", "-c",
                    "SET client_min_messages = error", "-c", statement},
                   statement);
}

void PostgresServer::set_access(const std::string& rule) const {
    std::ofstream(file("access")) << rule << "\n" << usual_access;
    query("SELECT pg_reload_conf()");
}

void PostgresServer::promote() const {
    query("SELECT pg_promote()");
    if (!await([&] { return query("SELECT pg_is_in_recovery()") == "f"; })) {
        throw std::runtime_error("a replica of postgres is not promoted");
    }
}

void PostgresServer::become_standby() {
    const auto signal = file("data") / "standby.signal";
    std::ofstream(signal) << "";
    give_to_unprivileged(signal);
    restart();
}

}  // namespace holdfast::test
