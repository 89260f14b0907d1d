#include "chaos/fenced_sink.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <sstream>
#include <system_error>

namespace holdfast::chaos {

namespace {

constexpr const char* too_old = "old";

[[noreturn]] void throw_error(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

test::Socket listen_at(const std::filesystem::path& path) {
    test::Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(socket.get(), SOMAXCONN) != 0) {
        throw_error("the sink's socket");
    }
    return socket;
}

}  // namespace

std::optional<std::uint64_t> FencedNumbers::raise(const std::string& name, std::uint64_t fence) {
    Guarded& guarded = guarded_[name];
    if (fence < guarded.fence) {
        ++guarded.refused;
        return std::nullopt;
    }
    guarded.fence = fence;
    return guarded.number;
}

bool FencedNumbers::write(const std::string& name, std::uint64_t fence, std::uint64_t number) {
    Guarded& guarded = guarded_[name];
    if (fence != guarded.fence) {
        ++guarded.refused;
        return false;
    }
    guarded.number = number;
    ++guarded.writes;
    return true;
}

FencedSink::FencedSink(const std::filesystem::path& socket)
    : listener_(listen_at(socket)), thread_([this](const std::stop_token& stop) { serve(stop); }) {}

FencedSink::~FencedSink() {
    thread_.request_stop();
}

void FencedSink::serve(const std::stop_token& stop) {
    constexpr int look_again_ms = 50;
    while (!stop.stop_requested()) {
        std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
        for (const Visitor& one : visitors_) polled.push_back({one.socket.get(), POLLIN, 0});
        if (poll(polled.data(), polled.size(), look_again_ms) <= 0) continue;
        for (std::size_t i = polled.size() - 1; i > 0; --i) {
            if (polled[i].revents == 0) continue;
            const auto visitor = visitors_.begin() + static_cast<std::ptrdiff_t>(i) - 1;
            if (!hear(*visitor)) visitors_.erase(visitor);
        }
        if (auto socket = test::accept_from(listener_)) visitors_.push_back({std::move(socket)});
    }
}

bool FencedSink::hear(Visitor& visitor) {
    char buffer[512];
    const auto count = recv(visitor.socket.get(), buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    visitor.read.append(buffer, static_cast<std::size_t>(count));
    for (auto end = visitor.read.find('\n'); end != std::string::npos;
         end = visitor.read.find('\n')) {
        const std::string answered = answer(visitor.read.substr(0, end)) + "\n";
        visitor.read.erase(0, end + 1);
        if (!test::send_all(visitor.socket, answered)) return false;
    }
    return true;
}

std::string FencedSink::answer(const std::string& question) {
    std::istringstream words(question);
    std::string verb;
    std::string name;
    std::uint64_t fence = 0;
    std::uint64_t number = 0;
    words >> verb >> name >> fence >> number;
    if (verb == "write") return numbers_.write(name, fence, number) ? "written" : too_old;
    const auto raised = numbers_.raise(name, fence);
    return raised ? std::to_string(*raised) : too_old;
}

SinkVisitor::SinkVisitor(const std::filesystem::path& socket)
    : socket_(test::connect_to_path(socket)) {
    if (!socket_) throw_error("visiting the sink");
}

std::optional<std::uint64_t> SinkVisitor::raise(const std::string& name, std::uint64_t fence) {
    const std::string answered = ask("raise " + name + " " + std::to_string(fence));
    if (answered == too_old) return std::nullopt;
    return std::stoull(answered);
}

bool SinkVisitor::write(const std::string& name, std::uint64_t fence, std::uint64_t number) {
    return ask("write " + name + " " + std::to_string(fence) + " " + std::to_string(number)) !=
           too_old;
}

std::string SinkVisitor::ask(const std::string& question) {
    if (!test::send_all(socket_, question + "\n")) throw_error("asking the sink");
    std::string answered;
    for (char one = 0; one != '\n';) {
        if (recv(socket_.get(), &one, 1, 0) != 1) throw_error("hearing the sink");
        if (one != '\n') answered += one;
    }
    return answered;
}

}  // namespace holdfast::chaos
