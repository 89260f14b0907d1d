#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/checkup.hpp>

#include "port/failure.hpp"
#include "stores/sql/session.hpp"
#include "stores/sql/settings.hpp"

namespace holdfast::inline v0::sql {

/// What the two kinds of servers do in different ways. Threads: all members may be called from any.
class Dialect {
public:
    virtual ~Dialect() = default;

    enum class Purpose : std::uint8_t { requests, pushes };
    /// Starts to connect. `resolved` is called, on any thread, when a host's name was looked up.
    virtual std::unique_ptr<Session> open(Purpose purpose,
                                          std::function<void()> resolved) const = 0;

    /// Makes tables and procedures; harmless when they are there.
    virtual std::string_view schema() const = 0;

    enum class Remedy : std::uint8_t {
        none,
        schema,     ///< make what is missing, then again
        again,      ///< the same may succeed in a moment, and had no effect
        repeat,     ///< the same may succeed in a moment, and may have been done
        reconnect,  ///< another server, or another session, may do it
    };
    struct Meaning {
        Remedy remedy = Remedy::none;
        Failure failure;  ///< when the remedy has not helped
    };
    virtual Meaning meaning_of(const ServerError& error) const = 0;

    /// The statements that tell how the server is set up, a row for each setting, and the clock.
    virtual std::string_view examination() const { return {}; }
    /// What follows from what they told.
    virtual std::vector<Finding> findings_in(const Settings& /*settings*/) const { return {}; }

    /// Who this client is, to those who tell its waiters.
    virtual const std::string& client() const = 0;
};

}  // namespace holdfast::inline v0::sql
