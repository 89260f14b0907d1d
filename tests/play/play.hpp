#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "play/fences.hpp"
#include "play/play_site.hpp"
#include "play/side.hpp"
#include "port/store.hpp"
#include "simulation/random.hpp"

namespace holdfast::test {

/// Whether somebody deletes what the store keeps while it plays.
enum class Hands { off, on };

/// A random sequence of requests to two resources, the same to a store and to the model of all of
/// them, the ledger in memory. Their answers are equal, and whom the model tells that it is its
/// turn is told so by the store. From the first deletion by hand on the model knows no more: then
/// no more than there is may be held, fences rise, and everybody comes to its turn.
class Play {
public:
    Play(std::uint64_t seed, PlaySite& site, const std::shared_ptr<Store>& store, Hands hands);

    /// What was wrong and all that led to it; nothing when all was well.
    std::string run(int steps);

private:
    /// A lease that no play outlasts, but where all is to end.
    static constexpr std::chrono::milliseconds lasting = std::chrono::hours{10};

    struct Terms {
        std::uint64_t capacity = all;
        Form form = Form::mutex;
        Fairness fairness = Fairness::fifo;
    };
    struct Known {
        Contender contender;
        Standing::State state = Standing::State::gone;  ///< when it was last heard of
        std::optional<Moment> taken_back = std::nullopt;
        std::optional<Extension> renewed = std::nullopt;
    };
    using Verb = std::function<Heard(Side&)>;

    bool damaged() const { return !model_.has_value(); }
    bool one_in(std::uint64_t of) { return random_.below(of) == 0; }
    template <class T>
    T one_of(std::initializer_list<T> some) {
        return some.begin()[random_.below(some.size())];
    }

    Terms random_terms();
    Contender newcomer(std::size_t resource);
    void disagree(Contender& one);
    std::chrono::milliseconds random_lease();
    Known& somebody();

    void step();
    void enter(const std::vector<Contender>& contenders);
    void enter_together();
    void enter_again(Known& known);
    void renew();
    void renew_late(Known& known);
    void leave(const Known& known);
    void leave_unanswered(Known& known);
    void break_off(const Known& known);
    void look_at_all();
    void let_time_pass();
    void let_long_time_pass();
    void probe(std::size_t resource);
    void damage();
    void drain();
    void check_books();

    /// The answer of the store, after it was found to be right.
    Heard ask(const std::string& what, const std::vector<Contender>& who, const Verb& verb);
    void compare(const Heard& expected, const Heard& found);
    void expect_told(const std::string& what, const std::vector<Contender>& askers);
    void check_fences(const Heard& heard);
    void check_shares();
    void fail(const std::string& difference);

    simulation::Random random_;
    PlaySite& site_;
    const Capabilities can_;
    const Rules rules_;
    const Hands hands_;
    const std::string folder_;
    Side tested_;
    std::optional<Side> model_;
    std::array<Terms, 2> terms_{};
    std::vector<Known> known_;
    std::map<Nonce, std::size_t> places_;  ///< among the known
    Fences fences_;
    std::uint64_t serial_ = 1;
    std::string story_;
    std::string difference_;
};

}  // namespace holdfast::test
