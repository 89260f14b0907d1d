#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "port/store.hpp"

namespace holdfast::test {

/// Any store as it is: whoever changes something of it changes these verbs alone.
class PassingStore : public Store {
public:
    explicit PassingStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

    Store& inner() { return *inner_; }

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        return inner_->enter(contenders);
    }
    Pending<Standing> standing(const Ticket& ticket) override { return inner_->standing(ticket); }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        return inner_->renew(tickets, extension);
    }
    Pending<Standing> leave(const Ticket& ticket) override { return inner_->leave(ticket); }
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return inner_->inspect(std::move(prefix));
    }
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        return inner_->watch(ticket, std::move(line_moved));
    }
    Capabilities capabilities() const override { return inner_->capabilities(); }
    bool may_block() const noexcept override { return inner_->may_block(); }
    Wire& wire() override { return inner_->wire(); }
    const std::string& description() const override { return inner_->description(); }

protected:
    /// What is never answered; or, at `until`, by a failure.
    template <class T>
    Pending<T> never(std::optional<Moment> until = std::nullopt) {
        return Pending<T>(std::make_shared<Flight<T>>(wire()), until);
    }

private:
    const std::shared_ptr<Store> inner_;
};

}  // namespace holdfast::test
