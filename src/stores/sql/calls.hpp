#pragma once

#include <chrono>
#include <span>
#include <string>

#include "port/contender.hpp"
#include "stores/sql/session.hpp"

/// The verbs as calls of our procedures: see src/stores/postgres/sql and src/stores/mysql/sql.
namespace holdfast::inline v0::sql {

Call enter(std::span<const Contender> contenders, const std::string& client);
Call standing(const Ticket& ticket);
/// In the order of the span: sort them by resource.
Call renew(std::span<const Ticket> tickets, std::chrono::milliseconds lease);
/// `tombstone`: how long a delayed enter of it is refused; nought: not.
Call leave(const Ticket& ticket, std::chrono::milliseconds tombstone);
Call inspect(std::string_view prefix);
Call look_at(std::string_view resource);

}  // namespace holdfast::inline v0::sql
