#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "core/alarm_thread.hpp"
#include "core/context.hpp"
#include "port/clock.hpp"

namespace holdfast::test {

/// What a client is made of, beside threads of its own.
struct ClientParts {
    std::shared_ptr<Store> store;
    std::shared_ptr<const holdfast::Clock> clock = std::make_shared<SystemClock>();
    std::string prefix = {};
    ClientOptions options = {};
    std::chrono::milliseconds goodbye = core::Context::Parts().goodbye;
};

inline std::shared_ptr<core::Context> client_of(ClientParts parts) {
    return core::Context::make({.store = std::move(parts.store),
                                .clock = std::move(parts.clock),
                                .renewing = std::make_unique<core::AlarmThread>(),
                                .telling = std::make_unique<core::AlarmThread>(),
                                .prefix = std::move(parts.prefix),
                                .options = std::move(parts.options),
                                .goodbye = parts.goodbye});
}

}  // namespace holdfast::test
