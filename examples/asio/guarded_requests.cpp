// A server on asio whose requests each guard what they work on. A request is a line with the name
// of an account; those for one account come one after the other, also from other processes that
// run this program on the same store, and nothing blocks the loop.
//
//     guarded_requests URL PORT     serves until it is interrupted; try it with nc
//     guarded_requests URL          serves some clients of its own, and ends
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>

#include <asio.hpp>

#include <holdfast/asio.hpp>
#include <holdfast/holdfast.hpp>

namespace {

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

/// Reads the balance, thinks, and writes it. The fence lets the database refuse a late writer.
awaitable<std::string> work_on(const std::string& account, std::uint64_t fence) {
    asio::steady_timer thinking(co_await asio::this_coro::executor, 2ms);
    co_await thinking.async_wait(use_awaitable);
    co_return account + " done under fence " + std::to_string(fence) + "\n";
}

awaitable<std::string> answer_to(const holdfast::Client& client, const std::string& account) {
    holdfast::Mutex guard(client, "accounts/" + account);
    holdfast::Attempt hold = co_await holdfast::async_try_acquire_for(guard, 10s, use_awaitable);
    if (!hold) co_return account + " busy\n";
    std::string answer = co_await work_on(account, hold->fence());
    // Not given back in time: somebody else may have worked on it.
    if (!hold->held()) co_return account + " lost\n";
    co_await holdfast::async_release(*std::move(hold), use_awaitable);
    co_return answer;
}

awaitable<void> serve(tcp::socket socket, holdfast::Client client) {
    try {
        for (std::string buffer;;) {
            const std::size_t size = co_await asio::async_read_until(
                socket, asio::dynamic_buffer(buffer, 1000), '\n', use_awaitable);
            const std::string account = buffer.substr(0, size - 1);
            buffer.erase(0, size);
            const std::string answer = co_await answer_to(client, account);
            co_await asio::async_write(socket, asio::buffer(answer), use_awaitable);
        }
    } catch (const holdfast::Error& error) {
        std::cerr << error.what() << '\n';
    } catch (const std::system_error&) {
        // Whoever asked is gone. What was being acquired for it is given back.
    }
}

awaitable<void> listen(tcp::acceptor& acceptor, holdfast::Client client) {
    for (;;) {
        tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
        asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), client), asio::detached);
    }
}

awaitable<int> ask(tcp::endpoint server, int requests) {
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(server, use_awaitable);
    int done = 0;
    std::string buffer;
    for (int i = 0; i < requests; ++i) {
        const std::string request = "alice\n";
        co_await asio::async_write(socket, asio::buffer(request), use_awaitable);
        const std::size_t size = co_await asio::async_read_until(
            socket, asio::dynamic_buffer(buffer), '\n', use_awaitable);
        if (buffer.find("done") < size) ++done;
        buffer.erase(0, size);
    }
    co_return done;
}

int serve_for_ever(asio::io_context& loop, tcp::acceptor& acceptor) {
    asio::signal_set interrupted(loop, SIGINT, SIGTERM);
    interrupted.async_wait([&](const std::error_code&, int) {
        acceptor.close();
        loop.stop();
    });
    std::cout << "serves port " << acceptor.local_endpoint().port() << '\n';
    loop.run();
    return 0;
}

int serve_some(asio::io_context& loop, const tcp::acceptor& acceptor) {
    constexpr int clients = 10;
    constexpr int requests = 10;
    int left = clients;
    int done = 0;
    for (int i = 0; i < clients; ++i) {
        auto ended = [&](const std::exception_ptr& failure, int answered) {
            if (!failure) done += answered;
            if (--left == 0) loop.stop();
        };
        asio::co_spawn(loop, ask(acceptor.local_endpoint(), requests), ended);
    }
    loop.run();
    std::cout << done << " of " << clients * requests << " requests had their turn\n";
    return done == clients * requests ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    try {
        auto client = count > 1 ? holdfast::connect(words[1]) : holdfast::connect();
        const auto port = static_cast<std::uint16_t>(count > 2 ? std::stoi(words[2]) : 0);
        asio::io_context loop;
        tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), port});
        asio::co_spawn(loop, listen(acceptor, client), asio::detached);
        return count > 2 ? serve_for_ever(loop, acceptor) : serve_some(loop, acceptor);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
