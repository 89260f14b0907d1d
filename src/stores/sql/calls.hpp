#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "port/contender.hpp"
#include "stores/sql/layout.hpp"
#include "stores/sql/session.hpp"

namespace holdfast::inline v0::sql {

/// The verbs as calls of our procedures: see src/stores/postgres/sql and src/stores/mysql/sql.
class Calls {
public:
    explicit Calls(Layout layout) : layout_(layout) {}

    Call enter(std::span<const Contender> contenders, const std::string& client) const;
    Call standing(const Ticket& ticket) const;
    /// In the order of the span: sort them by resource.
    Call renew(std::span<const Ticket> tickets, const Extension& extension) const;
    /// `tombstone`: how long a delayed enter of it is refused; nought: not.
    Call leave(const Ticket& ticket, std::chrono::milliseconds tombstone) const;
    /// A page of it, behind the line with this id, in hexadecimal digits; empty: the first.
    Call inspect(std::string_view prefix, const std::string& behind = {}) const;
    Call look_at(std::string_view resource) const;
    /// A step of it, likewise.
    static Call sweep(const std::string& behind);

    /// What is wrong with a name, if anything, in a sentence.
    std::optional<std::string> objection_to(std::string_view resource) const;
    /// The resource whose name stands in a row of inspect; nothing when it is of another layout.
    std::optional<std::string> resource_in(std::string_view text) const;

private:
    Call call(std::string_view verb) const;
    /// A row for this resource, with what the verb has besides.
    void add(Call& call, std::string_view resource, std::vector<std::string> words) const;

    const Layout layout_;
};

}  // namespace holdfast::inline v0::sql
