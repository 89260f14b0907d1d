#pragma once

#include <mysql.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "port/failure.hpp"
#include "stores/sql/address.hpp"

namespace holdfast::inline v0::mysql {

using Connection = std::unique_ptr<MYSQL, decltype(&mysql_close)>;

/// One attempt to connect, on a thread of its own: the library looks up the host, secures the
/// connection and reads its files by calls that block, and whoever leads a wire must not. All of it
/// ends within the address's connect_timeout, but for a name that is looked up.
class Connecting {
public:
    /// `done` is called on that thread when there is a result, unless this is gone by then. Throws
    /// Error when there is no thread, or no memory.
    Connecting(const sql::Address& address, std::function<void()> done);
    /// Gives up what is under way. It does not wait for a name that is still looked up: that thread
    /// ends by itself, and touches nothing of ours.
    ~Connecting();
    Connecting(const Connecting&) = delete;
    Connecting& operator=(const Connecting&) = delete;

    /// What came of it, once; nothing while it is under way.
    std::optional<Result<Connection>> take();

    struct State;

private:
    const std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace holdfast::inline v0::mysql
