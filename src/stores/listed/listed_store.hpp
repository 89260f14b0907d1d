#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
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
    virtual Wire& wire() = 0;
    /// See Store::description().
    virtual std::string shown() const = 0;
    /// Nobody uses it any more: says so to the server, and does not wait for long.
    virtual void close() noexcept {}
};

/// The store of a server that lists its lines, and runs nothing of ours: all is decided by who
/// reads a list.
class ListedStore final : public Store {
public:
    explicit ListedStore(std::shared_ptr<Protocol> protocol)
        : protocol_(std::move(protocol)), description_(protocol_->shown()) {}
    ~ListedStore() override { protocol_->close(); }

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        return protocol_->lines.watch(ticket.nonce, std::move(line_moved));
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override;
    Pending<Standing> leave(const Ticket& ticket) override;
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return protocol_->inspect(std::move(prefix));
    }
    Pending<std::vector<Line>> look_at(const std::string& resource) override {
        return protocol_->inspect_one(resource);
    }
    Capabilities capabilities() const override { return protocol_->capabilities(); }
    Wire& wire() override { return protocol_->wire(); }
    const std::string& description() const override { return description_; }

private:
    const std::shared_ptr<Protocol> protocol_;
    const std::string description_;
};

}  // namespace holdfast::inline v0::listed
