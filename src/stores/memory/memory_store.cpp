#include "stores/memory/memory_store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "port/fork.hpp"
#include "stores/ledger/ledger.hpp"
#include "stores/memory/promises.hpp"

namespace holdfast::inline v0::memory {

namespace {

using ledger::Ledger;

/// All clients of the process are one: nobody here can die alone.
constexpr ledger::ClientId the_client = 1;

template <class Verb>
using ResultOf = typename AsResult<std::invoke_result_t<Verb&, Ledger&>>::Type;

class MapTable final : public ledger::Table {
public:
    std::optional<std::string_view> get(std::string_view key) override {
        const auto row = rows_.find(key);
        if (row == rows_.end()) return std::nullopt;
        return row->second;
    }
    std::optional<Row> at_or_after(std::string_view key) override {
        const auto row = rows_.lower_bound(key);
        if (row == rows_.end()) return std::nullopt;
        return Row{row->first, row->second};
    }
    void put(std::string_view key, std::string_view value) override {
        rows_.insert_or_assign(std::string(key), std::string(value));
    }
    void erase(std::string_view key) override {
        const auto row = rows_.find(key);
        if (row != rows_.end()) rows_.erase(row);
    }

private:
    std::map<std::string, std::string, std::less<>> rows_;
};

class MemoryStore final : public Store {
public:
    MemoryStore(const Clock& clock, std::string description)
        : clock_(clock), description_(std::move(description)) {}

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        return in_ledger([&](Ledger& ledger) { return ledger.enter(contenders); });
    }
    Pending<Standing> standing(const Ticket& ticket) override {
        return in_ledger([&](Ledger& ledger) { return ledger.standing(ticket); });
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        return in_ledger([&](Ledger& ledger) {
            std::vector<Standing> standings;
            for (const Ticket& ticket : tickets) {
                standings.push_back(ledger.renew(ticket, extension));
            }
            return standings;
        });
    }
    Pending<Standing> leave(const Ticket& ticket) override {
        return in_ledger([&](Ledger& ledger) { return ledger.leave(ticket); });
    }
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return in_ledger([&](Ledger& ledger) { return ledger.inspect(prefix); });
    }
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        auto watch = watchers_->add(ticket.nonce, std::move(line_moved));
        // What happened before the watch was there is told now.
        const auto now = in_ledger([&](Ledger& ledger) { return ledger.standing(ticket); });
        if (!now.ok() || now.value().state == Standing::State::waiting) return watch;
        watchers_->call(ticket.nonce, now.value());
        return watch;
    }
    Capabilities capabilities() const override { return promises.front().can; }
    Wire& wire() override { return wire_; }
    const std::string& description() const override { return description_; }

private:
    /// Runs a verb under the lock, then wakes whom it concerns without it.
    template <class Verb>
    ResultOf<Verb> in_ledger(Verb verb) {
        std::unique_lock lock(mutex_);
        Ledger ledger({table_, clock_.now(), clock_.wall_microseconds(), last_fence_}, the_client);
        ResultOf<Verb> result = attempt(verb, ledger);
        lock.unlock();
        ledger::call(*watchers_, ledger.told(), the_client);
        return result;
    }

    template <class Verb>
    ResultOf<Verb> attempt(Verb& verb, Ledger& ledger) {
        try {
            return verb(ledger);
        } catch (const Error& error) {
            return Failure{errc::corrupt, Effect::none, description_ + ": " + error.what()};
        }
    }

    const Clock& clock_;
    std::string description_;
    std::mutex mutex_;
    MapTable table_;
    std::uint64_t last_fence_ = 0;
    Wire wire_;
    std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

/// The stores that have a name. Never destroyed: see Client.
struct Named {
    ForkMark mark;
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<Store>> stores;
};

Named& named() {
    static std::atomic<Named*> instance = new Named;
    // A forked child starts anew: a thread of the parent may have had these locked.
    if (instance.load()->mark.inherited()) instance = new Named;
    return *instance;
}

const SystemClock& system_clock() {
    static const SystemClock& instance = *new SystemClock;
    return instance;
}

}  // namespace

std::shared_ptr<Store> open_memory(const std::string& name) {
    if (name.empty()) return open_memory(system_clock());
    Named& registry = named();
    const std::lock_guard guard(registry.mutex);
    auto& known = registry.stores[name];
    auto store = known.lock();
    if (!store)
        known = store = std::make_shared<MemoryStore>(system_clock(), "memory store " + name);
    return store;
}

std::shared_ptr<Store> open_memory(const StoreUrl& url) {
    url.refuse_server("memory: or memory:NAME");
    return open_memory(url.path);
}

std::shared_ptr<Store> open_memory(const Clock& clock) {
    return std::make_shared<MemoryStore>(clock, "memory store");
}

}  // namespace holdfast::inline v0::memory
