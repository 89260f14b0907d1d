#include "stores/listed/renewal.hpp"

#include <map>
#include <utility>

namespace holdfast::inline v0::listed {

namespace {

Look look_for(const Entrant& entrant) {
    if (entrant.node.empty()) return {Look::At::name, entrant.path};
    if (entrant.admitted) return {Look::At::node, entrant.node};
    return {Look::At::line, entrant.path};
}

}  // namespace

std::vector<Renewed> begin_renewal(Lines& lines, std::span<const Ticket> tickets,
                                   const Extension& extension) {
    std::vector<Renewed> renewed;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        auto entrant = lines.entrants.find(tickets[i].nonce);
        if (!entrant) continue;
        const bool latest = lines.entrants.begin_renewal(tickets[i].nonce, extension.serial);
        renewed.push_back({.ticket = i, .entrant = *std::move(entrant), .is_latest = latest});
    }
    return renewed;
}

std::vector<Look> looks_for(std::span<Renewed> renewed) {
    std::vector<Look> looks;
    std::map<Look, std::size_t> known;
    for (Renewed& one : renewed) {
        const auto [place, is_new] = known.try_emplace(look_for(one.entrant), looks.size());
        if (is_new) looks.push_back(place->first);
        one.look = place->second;
    }
    return looks;
}

Standing renewed_as(Lines& lines, const Renewed& one, Standing standing, const Extension& extension,
                    const Extent& extent) {
    if (standing.state == Standing::State::gone) return standing;
    standing.counted_from = extent.counted_from;
    // Its lease may have ended before this was known: then its node is about to go.
    const bool there =
        lines.entrants.renewed(one.entrant.nonce(), extension.serial, extent.lease_end);
    return there ? standing : Standing{};
}

}  // namespace holdfast::inline v0::listed
