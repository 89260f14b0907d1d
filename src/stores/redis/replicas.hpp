#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "port/store_url.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

/// How many replicas must have what makes a holder, before it counts.
enum class Replicas : std::uint8_t { none, one, majority, all };

/// What the URL asks for. Throws Error with errc::bad_configuration when that is none of these.
Replicas replicas_of(const StoreUrl& url);

/// How many that is, of so many that are known. At least one, unless it is none: where no replica
/// is known, there may be one all the same that has never been seen.
std::size_t needed(Replicas asked, std::size_t known) noexcept;

/// Whether a reply with so many numbers for each contender, the first of them its state, says of
/// one that it is admitted; or is a fence alone.
bool admits(const Reply& reply, std::size_t numbers_each) noexcept;

/// How many replicas follow a server, by what it says to ROLE:
///     ["master", offset, [[host, port, offset]...]]
/// One that came again, and whose connection before that is not missed yet, is there twice.
std::size_t replicas_in(const Reply& role);

/// Which process of a server this is, by what it says to INFO server; empty when it does not say.
std::string run_in(const Reply& info);

}  // namespace holdfast::inline v0::redis
