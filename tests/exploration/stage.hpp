#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exploration/node.hpp"
#include "exploration/participant.hpp"

namespace holdfast::exploration {

inline constexpr std::size_t node_count = 3;
inline constexpr std::size_t client_count = 2;

/// How much may happen. Time goes in ticks of a second. Between two ticks everything may happen in
/// every order.
struct Bounds {
    std::array<int, client_count> attempts = {1, 1};
    int ticks = 2;
    int lease = 2;     ///< in ticks; none may be longer
    int renewals = 0;  ///< of each client
    int restarts = 0;
    int doubles = 0;                                      ///< requests that come twice
    std::array<Wall, node_count> clocks = {};             ///< of the nodes, beside the true time
    std::array<Wall, client_count> proposals_ahead = {};  ///< of the true time
};

/// Something that happens next.
struct Step {
    enum class What : std::uint8_t {
        arrives,        ///< a message
        arrives_twice,  ///< it does, and another copy is still under way
        enters,         ///< a client
        gives_up,       ///< a client, waiting for answers
        renews,
        leaves,
        comes_back_empty,  ///< a node
        comes_back,        ///< a node, with all that it had
        time_passes,
    };
    What what = What::time_passes;
    std::uint32_t about = 0;  ///< message, client or node
};

/// Two clients and three nodes, and all that is under way between them. A state is a value of a few
/// numbers, for what clients and nodes can be is numbered as it is found. States that differ only
/// in what changes nothing any more are made the same.
class Stage {
public:
    using Id = std::uint32_t;

    struct State {
        std::array<Id, node_count> nodes{};
        std::array<Id, client_count> players{};
        int tick = 0;
        int restarts = 0;                ///< that may still happen
        int doubles = 0;                 ///< the same
        std::vector<Id> under_way = {};  ///< messages, sorted
    };

    Stage(const Bounds& bounds, Fault fault, Lapse lapse);

    const State& start() const noexcept { return start_; }
    std::vector<Step> steps_from(const State& state) const;
    /// Makes it happen. Answers the fence of a client that is admitted by it, else nought.
    std::uint64_t happen(State& state, const Step& step);

    /// The same for states that differ in what nodes are called whose clocks agree, for what one
    /// can come to, the other can; and, by all chances, another one for all others.
    struct Fingerprint {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        bool operator==(const Fingerprint&) const = default;
    };
    Fingerprint fingerprint_of(const State& state, std::uint64_t highest_fence);

    bool holds(const State& state, std::size_t client) const;
    /// Whether a node has somebody in who has left for good, and nothing under way will change
    /// that.
    bool has_ghost(const State& state) const;
    std::string told(const Step& step) const;

private:
    /// Values that are equal have one number.
    template <class T>
    class Pool {
    public:
        Id id_of(const T& value) {
            const auto [place, is_new] = ids_.try_emplace(value, static_cast<Id>(values_.size()));
            if (is_new) values_.push_back(&place->first);
            return place->second;
        }
        const T& operator[](Id id) const { return *values_[id]; }
        std::size_t size() const noexcept { return values_.size(); }

    private:
        std::map<T, Id> ids_;
        std::vector<const T*> values_;
    };

    /// A client, and what it may still do.
    struct Player {
        Participant participant;
        int attempts = 0;
        int renewals = 0;
        auto operator<=>(const Player&) const = default;
    };
    /// A letter, or the answer to one.
    struct Message {
        std::size_t client = 0;
        bool is_answer = false;
        Letter letter = {};
        redlock::Vote vote = {};
        auto operator<=>(const Message&) const = default;
    };

    void add_steps_of(const State& state, Id client, std::vector<Step>& steps) const;
    std::uint64_t arrive(State& state, Id id);
    void answer(State& state, Id id);
    std::uint64_t hear(State& state, const Message& message);
    void enter(State& state, Id client);
    void give_up(State& state, Id client);
    void renew(State& state, Id client);
    void leave(State& state, Id client);
    void restart(State& state, Id node, Node::Memory kept);
    void pass_time(State& state);
    void go_on(State& state, std::size_t client, Player player, const std::vector<Letter>& letters);
    void drop_answers_for(State& state, std::size_t client) const;
    void drop_letters_to(State& state, std::size_t node);
    std::size_t letters_of(const State& state, const Nonce& nonce, std::size_t node) const;
    bool changes_nothing(const State& state, const Message& letter) const;

    const Participant& participant(const State& state, std::size_t client) const {
        return players_[state.players[client]].participant;
    }
    Wall clock_of(const State& state, std::size_t node) const;

    /// A player, taken apart: what it is but for nodes, and what it knows of each.
    struct Parts {
        Id rest = 0;
        std::array<Id, node_count> views{};
    };
    const Parts& parts_of(Id player);
    Id content_of(Id message);

    const Bounds bounds_;
    const redlock::Terms terms_;
    const Fault fault_;
    Pool<Node> nodes_;
    Pool<Player> players_;
    Pool<Message> messages_;
    /// What a node makes of a message at a time, once it was worked out: itself, and its answer.
    std::unordered_map<std::uint64_t, std::pair<Id, Id>> answers_;
    // Of those that are numbered already.
    Pool<Player> rests_;
    Pool<Participant::View> views_;
    Pool<Message> contents_;
    std::vector<Parts> parts_;
    std::vector<Id> contents_of_messages_;
    State start_;
};

}  // namespace holdfast::exploration
