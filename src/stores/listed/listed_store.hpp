#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "port/pending.hpp"
#include "port/store.hpp"
#include "stores/listed/lines.hpp"

namespace holdfast::inline v0::listed {

/// What one server has of its own: how contenders come into its lines, are listed, kept and ended.
/// It is shared by whoever uses it, and what comes back from the server finds it no more when it is
/// gone.
/// Threads: all members may be called from any thread.
class Protocol : public Server {
public:
    Lines lines{*this};

    // The verbs: see Store. What is over was taken out of line before.

    using EntryFlight = Flight<std::vector<Entry>>;
    virtual void enter(std::span<const Contender> contenders,
                       std::shared_ptr<EntryFlight> flight) = 0;
    virtual Pending<Standing> look_at(const Entrant& entrant) = 0;
    virtual Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                                 Extension extension) = 0;
    virtual Pending<Standing> leave(const Ticket& ticket) = 0;
    virtual Pending<std::vector<Line>> inspect(std::string prefix) = 0;
    virtual Pending<std::vector<Line>> inspect_one(const std::string& resource) = 0;
    virtual Capabilities capabilities() const = 0;
    virtual Result<Examination> examine() { return Examination{}; }
    virtual Wire& wire() = 0;
    /// See Store::description().
    virtual std::string shown() const = 0;
    /// Nobody uses it any more: says so to the server, and does not wait for long.
    virtual void close() noexcept {}
};

/// The store of a server that lists its lines, and runs nothing of ours: all is decided by who
/// reads a list.
std::shared_ptr<Store> store_on(std::shared_ptr<Protocol> protocol);

}  // namespace holdfast::inline v0::listed
