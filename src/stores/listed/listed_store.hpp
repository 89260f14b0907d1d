#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "port/store.hpp"
#include "stores/listed/protocol.hpp"

namespace holdfast::inline v0::listed {

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
