#include "play/play.hpp"

#include <algorithm>

#include "stores/memory/memory_store.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using State = Standing::State;

/// Requests concern mostly one of the last: the others are gone.
constexpr std::size_t recent = 10;
/// So long a late enter is refused for sure, after the leave that looked for it.
constexpr milliseconds withdrawn_for_sure = 30s;

}  // namespace

Play::Play(std::uint64_t seed, PlaySite& site, const std::shared_ptr<Store>& store, Hands hands)
    : random_(seed),
      site_(site),
      can_(store->capabilities()),
      rules_(site.rules()),
      hands_(hands),
      folder_("play" + std::to_string(seed) + (hands == Hands::on ? "h" : "")),
      tested_(store, rules_) {
    model_.emplace(memory::open_memory(site.clock()), rules_);
    for (Terms& terms : terms_) terms = random_terms();
}

std::string Play::run(int steps) {
    for (int i = 0; i < steps && difference_.empty(); ++i) step();
    if (!damaged()) check_books();
    drain();
    return difference_.empty() ? "" : story_ + difference_;
}

// Who comes -----------------------------------------------------------------------------------

Play::Terms Play::random_terms() {
    Terms terms;
    const auto kind = random_.below(3);
    if (kind == 0 && can_.permits) {
        terms.form = Form::permits;
        terms.capacity = 3;
    } else if (kind != 2 && can_.shared) {
        terms.form = Form::read_write;
    }
    const bool barges = !can_.fifo || (can_.barging && one_in(3));
    terms.fairness = barges ? Fairness::barging : Fairness::fifo;
    return terms;
}

milliseconds Play::random_lease() {
    return rules_.in_line ? one_of<milliseconds>({500ms, 3s, 30s, 10min}) : lasting;
}

Contender Play::newcomer(std::size_t resource) {
    const Terms& terms = terms_[resource];
    Contender one{.resource = folder_ + "/" + std::to_string(resource),
                  .nonce = {},
                  .owner = "owner" + std::to_string(random_.below(4)),
                  .weight = all,
                  .capacity = terms.capacity,
                  .form = terms.form,
                  .fairness = terms.fairness,
                  .patience = one_in(4) ? Patience::none : Patience::wait,
                  .lease = random_lease(),
                  .reenter = can_.reenter && one_in(4)};
    if (terms.form == Form::permits) one.weight = 1 + random_.below(3);
    if (terms.form == Form::read_write && one_in(2)) one.weight = 1;
    // Where reads join a write, what is left when that ends is another thing than with us.
    if (!rules_.apart && terms.form != Form::mutex) one.reenter = false;
    if (!rules_.joins_at_entry_alone && one.reenter) one.patience = Patience::none;
    if (can_.permits && one_in(8)) disagree(one);
    // Whom of several one joins or inherits from is anybody's choice. In memory it is the lowest
    // nonce, elsewhere the lowest ticket: let that be the same.
    const std::uint64_t parts[] = {known_.size(), random_.next()};
    for (std::size_t i = 0; i < 4; ++i) {
        one.nonce.bytes[i] = static_cast<std::byte>(parts[0] >> (8 * (3 - i)));
    }
    for (std::size_t i = 4; i < 12; ++i) {
        one.nonce.bytes[i] = static_cast<std::byte>(parts[1] >> (8 * (i - 4)));
    }
    places_[one.nonce] = known_.size();
    known_.push_back({.contender = one});
    return one;
}

/// It is for something else than the others. Where nobody reserves anything, one that waits there
/// and is dead may count as somebody who disagrees.
void Play::disagree(Contender& one) {
    if (one.fairness == Fairness::barging && !(model_ && model_->line(one.resource))) return;
    one.patience = Patience::none;
    if (one_in(2)) {
        one.fairness = one.fairness == Fairness::fifo ? Fairness::barging : Fairness::fifo;
    } else {
        one.capacity = one.capacity == all ? 3 : all;
        one.weight = std::min<std::uint64_t>(one.weight, one.capacity);
    }
}

Play::Known& Play::somebody() {
    return known_[known_.size() - 1 - random_.below(std::min(known_.size(), recent))];
}

// What they ask -------------------------------------------------------------------------------

void Play::step() {
    if (known_.empty() || one_in(4)) return enter({newcomer(random_.below(2))});
    if (hands_ == Hands::on && one_in(20)) return damage();
    switch (random_.below(12)) {
        case 0:
            return can_.enter_together ? enter_together() : enter({newcomer(0)});
        case 1:
            return enter_again(somebody());
        case 2:
        case 3:
            return renew();
        case 4:
            return renew_late(somebody());
        case 5:
        case 6:
            return leave(somebody());
        case 7:
            return one_in(3) ? leave_unanswered(somebody()) : look_at_all();
        case 8:
            return break_off(somebody());
        case 9:
        case 10:
            return let_time_pass();
        default:
            ask("lines", {}, [&](Side& side) { return side.lines(folder_); });
    }
}

void Play::enter(const std::vector<Contender>& contenders) {
    ask("enter", contenders, [&](Side& side) { return side.enter(contenders); });
}

void Play::enter_together() {
    Contender first = newcomer(0);
    Contender second = newcomer(1);
    if (first.patience != second.patience) first.patience = second.patience = Patience::none;
    known_[places_[first.nonce]].contender = first;
    known_[places_[second.nonce]].contender = second;
    enter({first, second});
}

/// One that is gone would get a new ticket; but not one that was taken back. In its own process
/// one of those may wait, too, as long as the lock is not free.
void Play::enter_again(Known& known) {
    const Contender one = known.contender;
    const auto taken_back = known.taken_back;
    ask("standing", {one}, [&](Side& side) { return side.standing(one); });
    const bool refused = taken_back && site_.clock().now() < *taken_back + withdrawn_for_sure &&
                         (rules_.in_line || (model_ && !model_->line(one.resource)));
    if (known_[places_[one.nonce]].state != State::gone || refused) enter({one});
}

void Play::renew() {
    std::vector<Contender> some{somebody().contender};
    if (one_in(2)) some.push_back(somebody().contender);
    if (some.size() == 2 && some[0].nonce == some[1].nonce) some.pop_back();
    const bool all_hold = std::ranges::all_of(some, [&](const Contender& one) {
        return known_[places_[one.nonce]].state == State::admitted;
    });
    milliseconds lease = random_lease();
    if (!rules_.in_line && rules_.apart && all_hold) lease = one_of<milliseconds>({3s, 30s});
    const Extension extension(lease, Moment{microseconds{++serial_}});
    for (const Contender& one : some) known_[places_[one.nonce]].renewed = extension;
    ask("renew for " + std::to_string(lease.count()) + " ms", some,
        [&](Side& side) { return side.renew(some, extension); });
}

/// A copy of a renewal that comes after later ones, or the last one twice. Where waiting is a
/// client's own business, a copy is as good as any other for one that waits.
void Play::renew_late(Known& known) {
    if (!known.renewed || (!rules_.in_line && known.state != State::admitted)) return;
    Extension extension = *known.renewed;
    if (one_in(2)) {
        extension.serial -= 1;
        extension.lease = 100ms;
    }
    ask("renew late", {known.contender},
        [extension, one = known.contender](Side& side) { return side.renew({one}, extension); });
}

void Play::leave(const Known& known) {
    const Contender one = known.contender;
    ask("leave", {one}, [&](Side& side) { return side.leave(one); });
    known_[places_[one.nonce]].state = State::gone;
}

void Play::leave_unanswered(Known& known) {
    const Contender one = known.contender;
    known.taken_back = site_.clock().now();
    ask("leave unanswered", {one}, [&](Side& side) { return side.leave_unanswered(one); });
    known_[places_[one.nonce]].state = State::gone;
}

void Play::break_off(const Known& known) {
    // There it would end whoever shares the place.
    if (!rules_.apart) return;
    const Contender one = known.contender;
    // Not listed is who waits in its own process.
    if (!rules_.in_line && known.state != State::admitted) return;
    ask("break", {one}, [&](Side& side) { return side.break_off(one); });
    known_[places_[one.nonce]].state = State::gone;
}

void Play::look_at_all() {
    const std::size_t last = std::min(known_.size(), recent);
    for (std::size_t i = known_.size() - last; i < known_.size(); ++i) {
        const Contender one = known_[i].contender;
        ask("standing", {one}, [&](Side& side) { return side.standing(one); });
    }
    if (damaged()) check_shares();
}

// Time ----------------------------------------------------------------------------------------

void Play::let_time_pass() {
    if (!rules_.apart) return let_long_time_pass();
    // A key of Redis is there for one more millisecond.
    milliseconds time = one_of<milliseconds>({100ms, 400ms, 1s, 3s, 40s});
    if (!rules_.in_line) time += 1ms;
    story_ += "  " + std::to_string(time.count()) + " ms pass\n";
    site_.clock().advance(time);
    // What is over ends when somebody looks. Let that be at the same moment.
    for (std::size_t i = 0; i < terms_.size(); ++i) probe(i);
}

/// Either nothing ends by it, or all: who shares a resource shares a lease there.
void Play::let_long_time_pass() {
    const bool all_end = one_in(4);
    for (std::size_t i = 0; i < known_.size(); ++i) {
        const Contender one = known_[i].contender;
        if (known_[i].state == State::gone) continue;
        if (all_end && known_[i].state != State::admitted) {
            leave(known_[i]);
        } else if (!all_end) {
            const Extension extension(lasting, Moment{microseconds{++serial_}});
            known_[i].renewed = extension;
            ask("renew", {one}, [&](Side& side) { return side.renew({one}, extension); });
        }
    }
    story_ += all_end ? "  all ends\n" : "  hours pass\n";
    site_.clock().advance(all_end ? lasting + 1h : lasting - 1h);
}

/// Somebody comes to a line, as it is now, and goes away again.
void Play::probe(std::size_t resource) {
    Contender one = newcomer(resource);
    const auto line = model_ ? model_->line(one.resource) : std::nullopt;
    one.capacity = line ? line->capacity : terms_[resource].capacity;
    one.fairness = line ? line->fairness : terms_[resource].fairness;
    one.weight = std::min(one.weight, one.capacity);
    one.patience = Patience::wait;
    one.reenter = false;
    known_.back().contender = one;
    enter({one});
    leave(known_[places_[one.nonce]]);
}

}  // namespace holdfast::test
