#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "port/store.hpp"
#include "simulation/server.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// How the network treats messages, in chances of a thousand.
struct Weather {
    unsigned request_lost = 0;
    unsigned reply_lost = 0;
    unsigned late = 0;      ///< lands long after its sender gave up
    unsigned repeated = 0;  ///< lands twice
    unsigned refused = 0;   ///< told at once that nothing was sent
    unsigned push_lost = 0;
    Time slowest{0};  ///< of one way
    Time latest{0};   ///< of a late one
};

/// One process's connection to the server, through a network that delays, loses, repeats and
/// reorders. Answers come as events of the process, so that they wait while it is paused.
class SimulatedStore final : public Store {
public:
    static constexpr std::chrono::milliseconds request_timeout{300};

    SimulatedStore(World& world, Server& server, const MachineClock& clock, Random& random,
                   const Weather& weather, Who who)
        : world_(world),
          server_(server),
          clock_(clock),
          random_(random),
          weather_(weather),
          who_(who) {}

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override;
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override;
    Pending<Standing> leave(const Ticket& ticket) override;
    Pending<std::vector<Line>> inspect(std::string prefix) override;
    Capabilities capabilities() const override;
    Wire& wire() override { return wire_; }
    const std::string& description() const override { return description_; }

    /// Nothing comes through until then.
    void cut_off(Time until) { cut_until_ = until; }
    /// For a caller that cannot wait for an event: the answer, or that there is none, is here now.
    bool answers_at_once = false;
    bool enters_together = true;
    /// The simulation is over: every call fails, every open one too.
    void dismantle();

private:
    /// Its callbacks come from the world, so no thread is needed to bring them.
    class QuietWire final : public Wire {
    public:
        ~QuietWire() override { close(); }

    private:
        bool needs_pump() const noexcept override { return false; }
    };

    template <class T>
    using Verb = std::function<Result<T>(Store&)>;

    template <class T>
    struct Call;
    template <class T>
    Pending<T> send(std::string what, Verb<T> verb);
    template <class T>
    Pending<T> answer_now(const std::string& what, const Verb<T>& verb);
    template <class T>
    void land(const std::shared_ptr<Call<T>>& call);
    template <class T>
    void answer(Call<T>& call, Result<T> result);
    template <class T>
    Result<T> apply(const std::string& what, const Verb<T>& verb);

    bool cut() const { return world_.now() < cut_until_; }
    Time one_way() { return random_.between(Time{1000}, weather_.slowest); }
    void count_from_now(std::vector<Entry>& entries) const;
    void count_from_now(std::vector<Standing>& standings) const;
    template <class T>
    void count_from_now(T&) const {}

    World& world_;
    Server& server_;
    const MachineClock& clock_;
    Random& random_;
    const Weather& weather_;
    const Who who_;
    QuietWire wire_;
    std::string description_ = "simulated store";
    Time cut_until_{0};
    bool dismantled_ = false;
    std::uint64_t last_call_ = 0;
    std::map<std::uint64_t, Callback<void()>> open_calls_;
};

}  // namespace holdfast::simulation
