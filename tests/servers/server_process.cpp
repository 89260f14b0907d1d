#include "servers/server_process.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "servers/texts.hpp"
#include "support/await.hpp"
#include "support/guard.hpp"

namespace holdfast::test {

namespace {

/// In memory where there is room: on a disk that others write to, a server that waits for it stands
/// still for seconds.
std::filesystem::path quickest_folder() {
    const std::filesystem::path memory = "/dev/shm";
    constexpr std::uintmax_t room = std::uintmax_t{4} << 30;
    std::error_code unknown;
    const auto space = std::filesystem::space(memory, unknown);
    const bool fits = !unknown && space.available >= room && access(memory.c_str(), W_OK) == 0;
    return fits ? memory : std::filesystem::temp_directory_path();
}

}  // namespace

ServerProcess::ServerProcess(std::string program, Medium medium)
    : program_(std::move(program)),
      folder_(medium == Medium::disk ? std::filesystem::temp_directory_path() : quickest_folder()) {
}

ServerProcess::~ServerProcess() {
    kill();
}

void ServerProcess::make_and_start() {
    make_data();
    start();
}

void ServerProcess::start() {
    kill();
    process_.emplace(command_line());
    guard_.emplace(guard_of(pid(), folder()));
}

void ServerProcess::await_serving() {
    bool ended = false;
    const bool decided = await([&] {
        ended = process_->ended(std::chrono::milliseconds{0}).has_value();
        return ended || serves();
    });
    if (!decided || ended) {
        throw std::runtime_error(program_ + " on port " + std::to_string(port()) +
                                 (ended ? " ended at once: " : " does not serve: ") +
                                 end_of(log()));
    }
}

void ServerProcess::kill() {
    if (!runs()) return;
    const std::vector<pid_t> children = this->children();
    // First the guard: when the server is gone, its number can be another process's.
    guard_.reset();
    process_.reset();
    // They would notice that by themselves, in a moment, and until then nobody can start on the
    // same data.
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) (void)await([&] { return ::kill(child, 0) != 0; });
}

void ServerProcess::pause() const {
    process_->stop();
    for (const pid_t child : children()) ::kill(child, SIGSTOP);
}

void ServerProcess::resume() const {
    for (const pid_t child : children()) ::kill(child, SIGCONT);
    process_->go_on();
}

std::vector<pid_t> ServerProcess::children() const {
    const std::string self = std::to_string(pid());
    std::ifstream listed("/proc/" + self + "/task/" + self + "/children");
    return {std::istream_iterator<pid_t>(listed), {}};
}

void ServerProcess::end_by_itself() {
    guard_.reset();
    if (!process_->ended()) throw std::runtime_error(program_ + " does not end: " + end_of(log()));
}

void ServerProcess::restart() {
    start();
    await_serving();
}

void ServerProcess::restart_empty() {
    kill();
    std::filesystem::remove_all(file("data"));
    make_and_start();
    await_serving();
}

std::vector<std::string> ServerProcess::logged(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"sh", "-c", R"(log=$0; exec "$@" >>"$log" 2>&1 </dev/null)", file("log")});
    return words;
}

std::string ServerProcess::said_by(const std::vector<std::string>& words,
                                   const std::string& asked) {
    Child program(words);
    std::string said;
    while (const auto line = program.hear()) said += (said.empty() ? "" : "\n") + *line;
    if (program.ended() != 0) throw std::runtime_error(asked + " was refused: " + said);
    return said;
}

std::string ServerProcess::log() const {
    return contents_of(file("log"));
}

}  // namespace holdfast::test
