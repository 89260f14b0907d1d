#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/failures.hpp"
#include "stores/redis/routes.hpp"

/// The one master that sentinels name.
///
/// What they say is compared by the epoch of their configuration, which every failover raises: one
/// that is behind, or was cut off, names an old master with an old epoch. This client never goes
/// back to an older epoch than it has seen. The server itself is asked for its role on each new
/// connection. Nobody but the sentinels says that a master is one no more; so they are asked when
/// it cannot be reached or says nothing, and when one of them tells of a switch.
///
/// Who asks for nothing does not listen to them either. A connection by which they tell may break
/// meanwhile, or end unnoticed, or never have been made, and a master be deposed that does not know
/// it. When that turns out, what the master answers is not taken before they are heard again or
/// have been asked; but for a moment only: without any of them the master that is known is used on.
///
/// One that is heard does not vouch for the master alone: it may be cut off together with it. Most
/// of them may not, for those that are left cannot agree on another one. While fewer are heard, all
/// are asked again and again.
namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

/// How often the sentinels are asked while there is trouble.
constexpr auto question_interval = 100ms;
/// How long those that do not answer are waited for, once another one has.
constexpr auto time_for_the_others = 200ms;
/// How long a master in doubt is not believed when nobody answers to that: no longer than half of
/// the time of a request, which is to be answered after it. Whoever answers is waited for as ever.
constexpr std::chrono::nanoseconds time_in_doubt = 200ms;
/// How long after a doubt the next one counts: connections may come and go all the time.
constexpr auto time_between_doubts = 1s;
/// How long they are asked again in vain, beside a master that serves: nothing is known against it.
constexpr auto idle_interval = 1s;
/// A sentinel that was behind learns of a switch within a few seconds, and a master that was
/// deposed is told so within ten. One that they all still name after this is the master.
constexpr auto switch_time = 15s;
constexpr const char* switch_channel = "+switch-master";

std::vector<Command> question_about(const std::string& master) {
    // The address first: of the two, that is the one which changes first. They go out together, and
    // are carried out one after the other with nothing between.
    std::vector<Command> commands;
    commands.push_back({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master});
    commands.push_back({"SENTINEL", "MASTER", master});
    return commands;
}

/// Which server the configuration with this epoch names.
struct Named {
    Host host;
    std::uint64_t epoch = 0;
    /// That it has, or should have: those that are down are known as well.
    std::size_t replicas = 0;
};

template <class Number>
std::optional<Number> number_in(const std::string& digits) {
    Number number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc{} || stopped != end || digits.empty()) return std::nullopt;
    return number;
}

/// SENTINEL MASTER answers with names and values in turn.
std::optional<std::uint64_t> field_in(const Reply& reply, std::string_view name) {
    for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
        if (reply.elements[i].text == name) {
            return number_in<std::uint64_t>(reply.elements[i + 1].text);
        }
    }
    return std::nullopt;
}

std::optional<Named> named_in(const std::vector<Reply>& replies) {
    const auto& address = replies[0].elements;
    const auto epoch = field_in(replies[1], "config-epoch");
    if (address.size() != 2 || !epoch) return std::nullopt;
    const auto port = number_in<std::uint16_t>(address[1].text);
    if (!port || *port == 0 || address[0].text.empty()) return std::nullopt;
    return Named{{address[0].text, *port}, *epoch, field_in(replies[1], "num-slaves").value_or(0)};
}

bool is_unknown_master(const std::vector<Reply>& replies) {
    return replies[0].kind == Reply::Kind::nil ||
           replies[1].text.find("No such master") != std::string::npos;
}

/// A master that is one no more, as a sentinel tells, and up to which epoch it was.
struct Deposed {
    Host host;
    std::uint64_t epoch = 0;
    const Informant* teller = nullptr;
    Moment until{};  ///< it is believed
};

/// What a push tells: "mymaster 10.0.0.1 6379 10.0.0.2 6379".
struct Switch {
    Host from;
    Host to;
};

std::optional<Switch> switch_in(const Reply& message, const std::string& master) {
    if (message.elements.size() != 3 || message.elements[0].text != "message") return std::nullopt;
    std::istringstream words(message.elements[2].text);
    std::string name;
    Switch told;
    std::uint16_t from = 0;
    std::uint16_t to = 0;
    words >> name >> told.from.name >> from >> told.to.name >> to;
    if (!words || name != master) return std::nullopt;
    told.from.port = from;
    told.to.port = to;
    return told;
}

class SentinelRoutes final : public Routes {
public:
    explicit SentinelRoutes(Common common) : Routes(std::move(common)) {
        for (const Address& sentinel : common_.servers.named) {
            informants_.push_back(
                std::make_unique<Informant>(sentinel, question_about(common_.servers.master),
                                            switch_channel, common_.resolved));
        }
    }

    Node* node_for(Request&) override { return master(); }
    Node* heard() override { return master(); }
    bool is_sure() const override { return !doubt_; }

    void go_on(Moment now, bool wanted, Due& due) override {
        forget_retired();
        for (const auto& sentinel : informants_) {
            sentinel->go_on(now);
            if (auto told = sentinel->take_answer()) take(*sentinel, *std::move(told), now);
            for (const Reply& message : sentinel->tidings()) {
                heard_of_switch(message, *sentinel, now, due);
            }
            sentinel->done_with_tidings();
            // What it told meanwhile was not heard.
            if (sentinel->take_gap()) may_have_changed();
            if (sentinel->take_doubt()) begin_doubt(now);
        }
        if (looking_) decide(now, due);
        if (doubt_) end_doubt(now);
        if (!looking_ && now >= next_look_ && is_look_wanted(now, wanted)) look(now);
    }

    std::optional<Failure> turned_away(Node& node, Request& request, const std::string& error,
                                       Moment now, Due& due) override {
        // A master that has become a replica: who is in its place, the sentinels will say.
        return leave_alone_for(20ms, node, request, error, now, due);
    }

    Moment earliest(bool wanted) const override {
        Moment first = Moment::max();
        for (const auto& sentinel : informants_) first = std::min(first, sentinel->earliest());
        if (doubt_) first = std::min(first, doubt_->look);
        if (doubt_ && BootClock::now() < doubt_->ends) first = std::min(first, doubt_->ends);
        if (looking_ && is_nobody_asked()) return BootClock::now();
        if (looking_)
            return first_answer_ ? std::min(first, *first_answer_ + time_for_the_others) : first;
        if (is_look_wanted(BootClock::now(), wanted)) return std::min(first, next_look_);
        if (nodes_.empty()) return first;
        if (may_be_another()) first = std::min(first, next_idle_look_);
        return std::min(first, nodes_.front()->in_trouble_at());
    }

private:
    Node* master() const { return nodes_.empty() ? nullptr : nodes_.front().get(); }

    bool is_look_wanted(Moment now, bool wanted) const {
        const bool anybody_waits = wanted || !common_.lobby.waiting().empty();
        if (nodes_.empty()) return anybody_waits;
        return (may_be_another() && now >= next_idle_look_) || nodes_.front()->is_in_trouble(now);
    }
    void may_have_changed() {
        ++changes_;
        next_idle_look_ = {};
    }
    /// Perhaps: since they were asked last, and have told.
    bool has_changed() const { return changes_ != changes_settled_; }

    bool is_majority_heard() const {
        const auto heard =
            std::ranges::count_if(informants_, [](const auto& one) { return one->is_heard(); });
        return static_cast<std::size_t>(heard) > informants_.size() / 2;
    }
    /// One has told that there is, or those that could tell are perhaps not heard.
    bool may_be_another() const { return has_changed() || !is_majority_heard(); }

    /// Whoever is in question may give a sign of life at once; otherwise they are asked. One that
    /// has gone by while nobody looked begins anew.
    void begin_doubt(Moment now) {
        if ((doubt_ && now < doubt_->ends) || now < next_doubt_) return;
        const auto time = std::min<std::chrono::nanoseconds>(
            time_in_doubt, common_.servers.node.request_timeout / 2);
        doubt_ = Doubt{.ends = now + time, .look = is_majority_heard() ? now + time / 2 : now};
        next_doubt_ = now + time_between_doubts;
        // What they have answered so far, and who is still to answer, may be from before it.
        looking_ = false;
        next_look_ = {};
        for (const auto& sentinel : informants_) {
            if (sentinel->is_asked()) sentinel->dismiss();
        }
    }
    void end_doubt(Moment now) {
        const bool is_answered = looking_ && first_answer_.has_value();
        if (is_doubt_over() || (now >= doubt_->ends && !is_answered)) {
            doubt_.reset();
        } else if (now >= doubt_->look) {
            doubt_->look = Moment::max();
            may_have_changed();
        }
    }
    /// They have said who is the master since it began; or have given a sign of life, and enough
    /// of them are heard.
    bool is_doubt_over() const {
        const bool were_asked = doubt_->look == Moment::max();
        if (were_asked) return !has_changed();
        const auto is_in_question = [](const auto& one) { return one->is_in_question(); };
        return !may_be_another() && std::ranges::none_of(informants_, is_in_question);
    }

    void look(Moment now) {
        looking_ = true;
        changes_looked_for_ = changes_;
        why_not_.reset();
        named_.clear();
        first_answer_.reset();
        for (const auto& sentinel : informants_) sentinel->ask(now);
        next_look_ = now + question_interval;
        next_idle_look_ = now + idle_interval;
    }

    void take(const Informant& sentinel, Informant::Told told, Moment now) {
        if (!told.ok()) {
            why_not_ = told.failure();
            return;
        }
        if (!first_answer_) first_answer_ = now;
        if (const auto named = named_in(told.value())) {
            named_.push_back(*named);
            forgive(sentinel, *named);
        } else if (is_unknown_master(told.value())) {
            why_not_ = {errc::bad_configuration, Effect::none,
                        common_.servers.shown() + ": the sentinels know no master of this name; " +
                            "check it"};
        } else if (told.value()[0].is_error()) {
            why_not_ = refusal_of(told.value()[0].text, sentinel.address());
        }
    }

    /// Once all have answered that will: right after a failover the one that led it may be the only
    /// one that knows.
    void decide(Moment now, Due& due) {
        const bool late = first_answer_ && now >= *first_answer_ + time_for_the_others;
        if (!is_nobody_asked() && !late) return;
        looking_ = false;
        std::erase_if(deposed_, [&](const Deposed& one) { return now >= one.until; });
        std::erase_if(named_, [&](const Named& one) { return is_deposed(one); });
        const auto newest = std::ranges::max_element(named_, {}, &Named::epoch);
        if (newest == named_.end()) return found_none(due);
        if (newest->epoch < epoch_) return found_older(due);
        epoch_ = newest->epoch;
        changes_settled_ = changes_looked_for_;
        // What is older is not followed anyway.
        std::erase_if(deposed_, [&](const Deposed& one) { return one.epoch < epoch_; });
        move_to(newest->host, due);
        master()->knows_of_replicas(newest->replicas);
        settle(now);
    }

    void found_none(Due& due) {
        attempt_failed(
            why_not_.value_or(Failure{errc::unreachable, Effect::none,
                                      common_.servers.shown() + ": no sentinel answers"}),
            due);
    }

    void found_older(Due& due) {
        attempt_failed({errc::unreachable, Effect::none,
                        common_.servers.shown() + ": its sentinels know an older state than this "
                                                  "client has seen; start it anew if they are new"},
                       due);
    }

    void move_to(const Host& host, Due& due) {
        common_.lobby.connected();
        if (master() != nullptr && master()->host() == host) return;
        if (master() != nullptr) retire(*master(), due);
        add(host, Node::Part::master);
    }

    /// They are asked no more, but tell when another one becomes the master.
    void settle(Moment now) {
        for (const auto& sentinel : informants_) {
            if (sentinel->is_heard() && !nodes_.front()->is_in_trouble(now)) sentinel->dismiss();
            sentinel->follow(now);
        }
    }

    /// At once, for the old one may come back and still believe to be the master. Who it is now is
    /// asked for.
    void heard_of_switch(const Reply& message, Informant& teller, Moment now, Due& due) {
        const auto told = switch_in(message, common_.servers.master);
        if (!told) return;
        may_have_changed();
        // What they have answered so far, and who is still to answer, may be from before it.
        looking_ = false;
        teller.dismiss();
        next_look_ = {};
        std::erase_if(deposed_, [&](const Deposed& one) {
            return one.teller == &teller && (one.host == told->to || one.host == told->from);
        });
        Deposed deposed{told->from, epoch_, &teller, now + switch_time};
        for (const Named& one : named_) {
            if (one.host == told->from) deposed.epoch = std::max(deposed.epoch, one.epoch);
        }
        deposed_.push_back(std::move(deposed));
        if (master() != nullptr && master()->host() == told->from) retire(*master(), due);
    }
    bool is_deposed(const Named& named) const {
        return std::ranges::any_of(deposed_, [&](const Deposed& one) {
            return named.host == one.host && named.epoch <= one.epoch;
        });
    }
    /// Who told of a switch is asked anew, and names the outcome of that one: by an older epoch
    /// than was followed, it told of one that is long over. And if it names the very master of
    /// which it told that it is one no more, it knows better by now.
    void forgive(const Informant& teller, const Named& named) {
        std::erase_if(deposed_, [&](const Deposed& one) {
            return one.teller == &teller && (named.epoch < epoch_ || named.host == one.host);
        });
    }

    std::uint64_t epoch_ = 0;  ///< the highest of a configuration that was followed
    std::vector<Deposed> deposed_;
    Moment next_look_{};
    Moment next_idle_look_{};  ///< while the master serves
    // Of who is the master, that there may have been: so far, when they were asked, and that they
    // have answered for.
    std::uint64_t changes_ = 0;
    std::uint64_t changes_looked_for_ = 0;
    std::uint64_t changes_settled_ = 0;
    /// Whether the master still is one.
    struct Doubt {
        Moment ends;  ///< whatever is known by then
        Moment look;  ///< they are asked then; they were: Moment::max()
    };
    std::optional<Doubt> doubt_;
    Moment next_doubt_{};
    bool looking_ = false;
    std::vector<Named> named_;  ///< by those who have answered since it was last looked
    std::optional<Moment> first_answer_;
    std::optional<Failure> why_not_;
};

}  // namespace

std::unique_ptr<Routes> sentinel_routes(Routes::Common common) {
    return std::make_unique<SentinelRoutes>(std::move(common));
}

}  // namespace holdfast::inline v0::redis
