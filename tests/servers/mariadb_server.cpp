#include "servers/mariadb_server.hpp"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "servers/data_template.hpp"
#include "support/process_wide.hpp"

namespace holdfast::test {

namespace {

/// A small log: each server copies it.
const std::string small = " --innodb-log-file-size=4M --innodb-buffer-pool-size=16M";

/// Of its own: a server that starts removes the temporary tables that it finds, whoever's they are.
std::string temporary_in(const std::filesystem::path& folder) {
    return "--tmpdir=" + folder.string();
}

void make_template(const std::filesystem::path& target) {
    run_to_end("mariadb-install-db --no-defaults --datadir='" + target.string() + "' '" +
               temporary_in(target) + "' --auth-root-authentication-method=normal --skip-test-db" +
               small + (getuid() == 0 ? " --user=root" : ""));
}

}  // namespace

MariadbServer::MariadbServer(MariadbOptions options)
    : ServerProcess("mariadbd", options.durable ? Medium::disk : Medium::quickest),
      options_(std::move(options)) {
    make_and_start();
    await_serving();
}

void MariadbServer::make_data() const {
    const auto made = data_template("mariadb", make_template);
    run_to_end("cp -a '" + made.string() + "' '" + file("data").string() + "'");
    // A database is a folder. It is there before anybody can connect.
    std::filesystem::create_directory(file("data") / "locks");
}

MariadbServer& MariadbServer::shared() {
    return ProcessWide<MariadbServer>::get();
}

std::vector<std::string> MariadbServer::command_line() const {
    std::vector<std::string> words = options_.under;
    words.insert(words.end(), {"mariadbd", "--no-defaults", "--datadir=" + file("data").string(),
                               "--port=" + std::to_string(port()), "--bind-address=127.0.0.1",
                               "--socket=" + file("socket").string(), "--max-connections=300",
                               temporary_in(folder())});
    if (getuid() == 0) words.emplace_back("--user=root");
    if (!options_.durable) {
        words.insert(words.end(), {"--innodb-flush-log-at-trx-commit=2",
                                   "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M"});
    }
    if (options_.tls) {
        const Certificate& own = certificates().server;
        words.insert(words.end(),
                     {"--ssl-cert=" + own.certificate.string(), "--ssl-key=" + own.key.string()});
    }
    for (const std::string& setting : options_.settings) words.push_back("--" + setting);
    return logged(std::move(words));
}

/// The port is opened last. A node of a cluster takes connections before it takes statements.
bool MariadbServer::serves() const {
    if (!connect_to_port(port())) return false;
    try {
        query("CREATE DATABASE IF NOT EXISTS locks");
        return true;
    } catch (const std::runtime_error&) {
        return false;
    }
}

std::string MariadbServer::url_through(int port) const {
    return "mysql://root@127.0.0.1:" + std::to_string(port) + "/locks";
}

std::string MariadbServer::tls_url() const {
    return url() + "?tls_ca=" + certificates().authority.certificate.string();
}

std::string MariadbServer::query(const std::string& statements) const {
    return said_by({"mariadb", "--no-defaults", "-N", "-B", "-u", "root",
                    "--socket=" + file("socket").string(), "-e", statements},
                   statements);
}

}  // namespace holdfast::test
