#include "stores/@name@/@name@_store.hpp"

#include <string>
#include <string_view>

namespace holdfast::inline v0::@name@ {

namespace {

class @Name@Store final : public Store {
public:
    explicit @Name@Store(const StoreUrl& url) : description_("@name@ store " + url.shown) {}

    Pending<std::vector<Entry>> enter(std::span<const Contender> /*contenders*/) override {
        return missing("enter");
    }
    Pending<Standing> standing(const Ticket& /*ticket*/) override { return missing("standing"); }
    std::unique_ptr<Watch> watch(const Ticket& /*ticket*/, LineMoved /*line_moved*/) override {
        return std::make_unique<Watch>();
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> /*tickets*/,
                                         Extension /*extension*/) override {
        return missing("renew");
    }
    Pending<Standing> leave(const Ticket& /*ticket*/) override { return missing("leave"); }
    Pending<std::vector<Line>> inspect(std::string /*prefix*/) override {
        return missing("inspect");
    }
    Capabilities capabilities() const override { return {.fifo = true}; }
    Wire& wire() override { return wire_; }
    const std::string& description() const override { return description_; }

private:
    Failure missing(std::string_view verb) const {
        return {errc::not_supported, Effect::none,
                description_ + ": " + std::string(verb) + " is not written yet"};
    }

    std::string description_;
    Wire wire_;
};

}  // namespace

std::shared_ptr<Store> open_@name@(const StoreUrl& url) {
    return std::make_shared<@Name@Store>(url);
}

}  // namespace holdfast::inline v0::@name@
