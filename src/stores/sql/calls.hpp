#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "port/contender.hpp"
#include "port/store.hpp"
#include "port/store_url.hpp"
#include "stores/scripted/protocol.hpp"
#include "stores/sql/session.hpp"

namespace holdfast::inline v0::sql {

/// Whose tables a lock is in.
enum class Tables : std::uint8_t {
    holdfast,
    shedlock,  ///< ShedLock's, shared with it: see shedlock.sql
};

/// As the parameter `layout` says. Throws Error with errc::bad_configuration for one that there is
/// not.
Tables tables_of(const StoreUrl& url);

/// The verbs as calls of our procedures: see src/stores/postgres/sql and src/stores/mysql/sql.
/// Threads: all members may be called from any thread.
class Calls {
public:
    /// `client`: see Dialect::client().
    Calls(Tables tables, std::string client) : tables_(tables), client_(std::move(client)) {}

    Capabilities capabilities() const;
    /// What is wrong with a name, a contender or a lease, if anything, in a sentence.
    std::optional<std::string> objection_to(const std::string& resource) const;
    std::optional<std::string> objection_to(const Contender& one) const {
        return objection_to(one.resource);
    }
    std::optional<std::string> objection_to(const Ticket& /*ticket*/,
                                            std::chrono::milliseconds /*lease*/) const {
        return std::nullopt;
    }

    /// Has the tables made too, if they are not there: so a lack of rights is told by then.
    Call greeting() const { return look_at(""); }
    Call enter(std::span<const Contender> contenders) const;
    Call standing(const Ticket& ticket) const;
    /// One for all, sorted by name, as every request takes several rows: so two never wait for each
    /// other. One for each of those that are shared.
    std::vector<scripted::Batch<Call>> renewals(std::span<const Ticket> tickets,
                                                std::span<const std::size_t> which,
                                                const Extension& extension) const;
    /// `tombstone`: how long a delayed enter of it is refused; nought: not.
    Call leave(const Ticket& ticket, std::chrono::milliseconds tombstone) const;
    /// A page of it, behind the line with this id, in hexadecimal digits; empty: the first.
    Call inspect(std::string_view prefix, const std::string& behind = {}) const;
    Call look_at(std::string_view resource) const;
    /// A step of it, likewise.
    Call sweep(const std::string& behind) const;

    /// The resource whose name stands in a row of inspect; nothing when it is of another layout.
    std::optional<std::string> resource_in(std::string_view text) const;

private:
    Call call(std::string_view verb) const;
    /// A row for this resource, with what the verb has besides.
    void add(Call& call, std::string_view resource, std::vector<std::string> words) const;

    const Tables tables_;
    const std::string client_;
};

/// What was written as a word with all but the plainest letters escaped. Nothing when it is none.
std::optional<std::string> unescaped(std::string_view text);

}  // namespace holdfast::inline v0::sql
