#include "stores/local/local_store.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "port/fork.hpp"
#include "stores/local/checkup.hpp"
#include "stores/local/local_client.hpp"
#include "stores/local/promises.hpp"

namespace holdfast::inline v0::local {

namespace {

using Step = LocalClient::Step;

/// How many leases are renewed in one turn, so that a client with many does not keep the others
/// waiting.
constexpr std::size_t renewals_a_turn = 512;

[[noreturn]] void refuse(const std::string& sentence) {
    throw Error(errc::bad_configuration, sentence);
}

unsigned mode_of(const StoreUrl& url) {
    const std::string mode = url.text("mode").value_or("0600");
    if (mode == "0600" || mode == "600") return 0600;
    if (mode == "0660" || mode == "660") return 0660;
    refuse(url.shown + ": the parameter mode is '" + mode +
           "'; give 0600 (its owner) or 0660 (its group)");
}

/// Empty for the user's default folder.
std::string folder_of(const StoreUrl& url) {
    url.refuse_server("local:///folder, with three slashes");
    if (!url.path.empty() && !url.path.starts_with('/')) {
        refuse(url.shown + ": the folder must be absolute; write it as local:///folder");
    }
    if (url.path.find('\0') != std::string::npos) {
        refuse("local: the folder's name has a NUL in it; write the URL without %00");
    }
    return url.path;
}

bool is_stand_by(const Standing& standing) {
    return standing.state == Standing::State::waiting && standing.look_again;
}

bool turned_away(const Result<std::vector<Entry>>& result) {
    return result.ok() && !result.value().empty() &&
           result.value().back().standing.state == Standing::State::gone;
}

class LocalStore final : public Store {
public:
    explicit LocalStore(const LocalOptions& options)
        : client_(std::make_unique<LocalClient>(options)) {}
    ~LocalStore() override {
        // What a forked child has of it belongs to the parent: closing it would end the parent's.
        if (mark_.inherited()) static_cast<void>(client_.release());
    }

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        if (mark_.inherited()) return inherited();
        for (;;) {
            std::vector<Registrant> suspects;
            auto result = client_->in_turn([&](Step& step) {
                auto entries = step.ledger.enter(contenders);
                if (turned_away(entries)) {
                    const std::size_t last = entries.value().size() - 1;
                    suspects = client_->in_the_way(step, contenders[last].resource);
                }
                return entries;
            });
            // A dead one keeps nobody out.
            if (suspects.empty() || !client_->bury_dead(suspects)) return result;
        }
    }

    Pending<Standing> standing(const Ticket& ticket) override {
        if (mark_.inherited()) return inherited();
        return client_->in_turn([&](Step& step) {
            client_->open_mail(step);
            const Standing standing = step.ledger.standing(ticket);
            if (standing.state == Standing::State::waiting) client_->look_ahead(step, ticket);
            return standing;
        });
    }

    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        if (mark_.inherited()) return nullptr;
        auto watch = client_->add_watch(ticket.nonce, std::move(line_moved));
        // What happened before the watch was there is told now. The caller may hold a lock of its
        // own, so it is left to whoever leads.
        Station::Due due;
        const auto now = client_->in_turn(
            [&](Step& step) {
                const Standing standing = step.ledger.standing(ticket);
                if (standing.state == Standing::State::waiting) client_->look_ahead(step, ticket);
                return standing;
            },
            &due);
        for (auto& callback : due) client_->station().leave_to_leader(std::move(callback));
        if (!now.ok()) {
            client_->call_later(ticket.nonce, {.state = Standing::State::waiting});
        } else if (now.value().state != Standing::State::waiting) {
            client_->call_later(ticket.nonce, now.value());
        }
        return watch;
    }

    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        if (mark_.inherited()) return inherited();
        std::vector<Standing> standings;
        standings.reserve(tickets.size());
        while (!tickets.empty()) {
            const auto batch = tickets.first(std::min(tickets.size(), renewals_a_turn));
            auto renewed =
                client_->in_turn([&](Step& step) { return renew_batch(step, batch, extension); });
            if (!renewed.ok()) return renewed.failure();
            std::ranges::move(renewed.value(), std::back_inserter(standings));
            tickets = tickets.subspan(batch.size());
        }
        return standings;
    }

    Pending<Standing> leave(const Ticket& ticket) override {
        if (mark_.inherited()) return inherited();
        return client_->in_turn([&](Step& step) { return step.ledger.leave(ticket); });
    }

    Pending<std::vector<Line>> inspect(std::string prefix) override {
        if (mark_.inherited()) return inherited();
        try {
            client_->bury_all_dead();
        } catch (const Error& error) {
            return client_->failure(error);
        }
        return client_->in_turn([&](Step& step) { return step.ledger.inspect(prefix); });
    }

    Capabilities capabilities() const override { return promises.front().can; }
    Result<Examination> examine() override {
        return Examination{.findings = findings_in(client_->folder())};
    }
    /// For a process that was stopped inside a transaction.
    bool may_block() const noexcept override { return true; }
    /// What is left to another thread may be passed by whoever asks on his own.
    bool in_order() const noexcept override { return false; }
    int share_life(int pid) override { return client_->share_pulse(pid); }
    Wire& wire() override { return client_->station(); }
    const std::string& description() const override { return client_->folder().description(); }

private:
    std::vector<Standing> renew_batch(Step& step, std::span<const Ticket> tickets,
                                      Extension extension) {
        client_->open_mail(step);
        std::vector<Standing> standings;
        standings.reserve(tickets.size());
        for (const Ticket& ticket : tickets) {
            standings.push_back(step.ledger.renew(ticket, extension));
            if (is_stand_by(standings.back())) client_->look_ahead(step, ticket);
        }
        return standings;
    }

    Failure inherited() const {
        return {errc::inherited, Effect::none,
                description() + ": opened before fork(); open it again in the child"};
    }

    ForkMark mark_;
    std::unique_ptr<LocalClient> client_;
};

}  // namespace

std::shared_ptr<Store> open_local(const LocalOptions& options) {
    return std::make_shared<LocalStore>(options);
}

std::shared_ptr<Store> open_local(const StoreUrl& url) {
    LocalOptions options{.folder = folder_of(url), .mode = mode_of(url)};
    if (const auto timeout = url.duration("request_timeout")) options.request_timeout = *timeout;
    return open_local(options);
}

}  // namespace holdfast::inline v0::local
