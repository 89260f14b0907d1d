#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "port/contender.hpp"
#include "stores/listed/lines.hpp"

namespace holdfast::inline v0::listed {

/// A contender that is renewed, as one of several tickets.
struct Renewed {
    std::size_t ticket = 0;  ///< which of them
    Entrant entrant;
    bool is_latest = true;  ///< this renewal is, of all of this contender
    std::size_t look = 0;   ///< which one tells where it stands
};

/// What has to be looked at to tell where a contender stands.
struct Look {
    enum class At : std::uint8_t {
        node,  ///< its own: it holds, and does so while that is there
        line,  ///< the list of it
        name,  ///< of the resource, which it waits for with barging
    };
    At at = At::node;
    std::string path;
    auto operator<=>(const Look&) const = default;
};

/// The contenders of these tickets. What this client does not know of any more is gone, and not
/// among them.
std::vector<Renewed> begin_renewal(Lines& lines, std::span<const Ticket> tickets,
                                   const Extension& extension);

/// A look at the node of each that holds, and one list for all that wait in one line.
std::vector<Look> looks_for(std::span<Renewed> renewed);

/// What is told of one that stands like this, when its lease counts from one moment, and ends at
/// the other if nobody renews it again: no earlier than a whole lease after the first, for so long
/// it is trusted.
struct Extent {
    Moment counted_from;
    Moment lease_end;
};
Standing renewed_as(Lines& lines, const Renewed& one, Standing standing, const Extension& extension,
                    const Extent& extent);

}  // namespace holdfast::inline v0::listed
