#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "stores/redis/cluster_map.hpp"
#include "stores/redis/failures.hpp"
#include "stores/redis/hash_slot.hpp"
#include "stores/redis/routes.hpp"
#include "stores/redis/scan.hpp"

/// The masters of a cluster, each for some of the hash slots.
///
/// A node that turns a request away says who serves it, which is believed at once; the whole map is
/// asked for as well then, and whenever a node cannot be reached or says nothing, or a slot has no
/// node. Several are asked, each time others, and what they say is compared by the epoch that they
/// know of: a node that was cut off tells an old map, and this client never goes back to one. A
/// node learns of the epoch when it votes, and of who was elected after that; so each slot's owner
/// counts by its own epoch too, as it does among the nodes: who has the slot by a later one has it.
///
/// What is published on one node is heard on all. So one is listened to, and another one when that
/// is lost.
namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

/// How often the map is asked for while there is trouble.
constexpr auto look_interval = 100ms;
/// How long those that do not answer are waited for, once another one has.
constexpr auto grace = 100ms;
/// So many nodes are asked at a time.
constexpr std::size_t asked_at_once = 3;
/// How long a request waits whose slot is being moved, or served by nobody.
constexpr auto pause = 10ms;
/// How long after a slot has passed to another node one may be under way to the one before.
constexpr auto time_of_parting = 1s;
/// So often a request follows the word of nodes at once: they may disagree for a while.
constexpr int most_redirections = 5;
/// That of a request without a key: any node will do.
constexpr std::uint16_t no_slot = hash_slots;

class ClusterRoutes final : public Routes {
public:
    explicit ClusterRoutes(Common common)
        : Routes(std::move(common)), owners_(hash_slots), owner_epochs_(hash_slots) {}

    void address(Request& request) const override {
        const auto key = request.command.first_key();
        request.hash_slot = key ? hash_slot_of(*key) : no_slot;
    }

    Node* node_for(Request& request) override {
        if (request.hash_slot == no_slot && !request.only_at) go_round(request);
        if (request.asking) return unless_it_passes(request, find(*request.only_at));
        if (request.only_at) return find(*request.only_at);
        if (request.hash_slot == no_slot) return any();
        return is_parting() ? unless_it_passes(request, owners_[request.hash_slot])
                            : owners_[request.hash_slot];
    }

    Node* heard() override {
        if (ear_ == nullptr) ear_ = any();
        return ear_;
    }
    void not_heard(Node& node) override {
        if (&node != ear_) return;
        const auto place = std::ranges::find(nodes_, &node, &std::unique_ptr<Node>::get);
        ear_ = (place + 1 == nodes_.end() ? nodes_.front() : *(place + 1)).get();
    }

    void go_on(Moment now, bool wanted, Due& due) override {
        forget_retired();
        for (const auto& informant : informants_) {
            informant->go_on(now);
            if (const auto told = informant->take_answer()) take(*informant, *told, now, due);
        }
        if (looking_) end_look(now, due);
        leave_deposed(now, due);
        if (!looking_ && now >= next_look_ && is_look_wanted(now, wanted)) look(now);
    }

    std::optional<Failure> turned_away(Node& node, Request& request, const std::string& error,
                                       Moment now, Due&) override {
        request.only_at.reset();
        request.asking = false;
        auto redirection = redirection_of(error);
        const bool is_believed = redirection && ++request.redirections <= most_redirections;
        request.not_before = is_believed ? Moment{} : now + pause;
        if (!redirection) {
            is_old_ = true;
        } else {
            if (redirection->host.name.empty()) redirection->host.name = node.address().host;
            follow(*redirection, request);
        }
        return std::nullopt;
    }

    Moment earliest(bool wanted) const override {
        Moment first = Moment::max();
        for (const auto& informant : informants_) first = std::min(first, informant->earliest());
        if (looking_ && is_nobody_asked()) return BootClock::now();
        if (looking_) return accepted_ ? std::min(first, *accepted_ + grace) : first;
        if (is_look_wanted(BootClock::now(), wanted)) return std::min(first, next_look_);
        for (const auto& node : nodes_) first = std::min(first, node->in_trouble_at());
        return first;
    }

private:
    Node* find(const Host& host) const {
        const auto is_there = [&](const auto& node) { return node->host() == host; };
        const auto found = std::ranges::find_if(nodes_, is_there);
        return found == nodes_.end() ? nullptr : found->get();
    }
    Node& node_at(const Host& host) {
        if (Node* const known = find(host)) return *known;
        remember_replicas();
        Node& node = add(host, Node::Part::any);
        node.knows_of_replicas(*count_replicas(host, 0));
        return node;
    }
    bool serves_anything(const Node& node) const {
        return std::ranges::find(owners_, &node) != owners_.end();
    }
    Node* any() const {
        const Moment now = BootClock::now();
        for (const auto& node : nodes_) {
            if (!node->is_in_trouble(now)) return node.get();
        }
        return nodes_.empty() ? nullptr : nodes_.front().get();
    }

    bool is_parting() const {
        return parting_until_ != Moment{} && BootClock::now() < parting_until_;
    }
    /// Nobody passes one for the same keys, submitted earlier, that is under way to another node:
    /// one that had them before, or that has some of them still, and will turn it away.
    Node* unless_it_passes(const Request& request, Node* to) const {
        const Moment now = BootClock::now();
        const bool passes = std::ranges::any_of(nodes_, [&](const auto& node) {
            return node.get() != to && !node->is_in_trouble(now) && node->has_before(request);
        });
        return passes ? nullptr : to;
    }
    void change_owner(std::size_t slot, Node& node) {
        if (Node*& owner = owners_[slot]; owner != &node) {
            if (owner != nullptr && !owner->is_idle()) {
                parting_until_ = BootClock::now() + time_of_parting;
            }
            owner = &node;
        }
    }

    /// A search through all keys goes from master to master.
    void go_round(Request& request) {
        if (!is_scan(request.command) || nodes_.empty()) return;
        std::vector<Host> masters;
        for (const auto& node : nodes_) {
            if (serves_anything(*node)) masters.push_back(node->host());
        }
        if (masters.empty()) return;
        ScanPart part = part_of_scan(request.command, std::move(masters));
        request.only_at = part.host;
        std::swap(request.command, part.command);
        request.answered = [told = std::move(request.answered),
                            part = std::move(part)](Answer answer) {
            if (answer.result.ok()) complete(part, answer.result.value());
            told(std::move(answer));
        };
    }

    void follow(const Redirection& redirection, Request& request) {
        Node& node = node_at(redirection.host);
        if (redirection.asks) {
            request.only_at = redirection.host;
            request.asking = true;
        } else if (redirection.hash_slot < hash_slots) {
            change_owner(redirection.hash_slot, node);
            is_old_ = true;
        }
    }

    bool is_look_wanted(Moment now, bool wanted) const {
        const auto lacks_a_node = [&](const auto& request) { return now >= request->not_before; };
        if (is_old_ || (nodes_.empty() && wanted)) return true;
        return std::ranges::any_of(common_.lobby.waiting(), lacks_a_node) ||
               std::ranges::any_of(nodes_,
                                   [&](const auto& node) { return node->is_in_trouble(now); });
    }

    void look(Moment now) {
        looking_ = true;
        is_old_ = false;
        accepted_.reset();
        why_not_.reset();
        next_look_ = now + look_interval;
        informants_.clear();
        const auto hosts = all_hosts();
        for (std::size_t i = 0; i < std::min(asked_at_once, hosts.size()); ++i) {
            ask(hosts[(next_asked_ + i) % hosts.size()], now);
        }
        next_asked_ += asked_at_once;
    }

    void ask(const Host& host, Moment now) {
        informants_.push_back(std::make_unique<Informant>(
            common_.servers.node.at(host), question_about_cluster(), "", common_.resolved));
        informants_.back()->ask(now);
    }

    /// Who may be asked: those of the map, and those of the URL.
    std::vector<Host> all_hosts() const {
        std::vector<Host> hosts;
        const auto also = [&](const Host& host) {
            if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
        };
        for (const auto& node : nodes_) also(node->host());
        for (const Host& replica : replicas_) also(replica);
        for (const Address& named : common_.servers.named) also({named.host, named.port});
        return hosts;
    }

    void take(const Informant& informant, const Informant::Told& told, Moment now, Due& due) {
        if (!told.ok()) {
            why_not_ = told.failure();
            return;
        }
        const auto map = cluster_map_in(told.value(), informant.address().host);
        if (!map) {
            why_not_ = refusal_of(told.value()[1].text, informant.address());
        } else if (map->epoch >= epoch_) {
            epoch_ = map->epoch;
            if (!accepted_) accepted_ = now;
            use(*map, due);
        }
    }

    void use(const ClusterMap& map, Due& due) {
        std::vector<bool> named(hash_slots, false);
        replicas_.clear();
        remember_replicas();
        for (const ClusterMap::Row& row : map.rows) {
            Node& master = node_at(row.master);
            for (std::size_t slot = row.first; slot <= row.last; ++slot) {
                named[slot] = true;
                own(slot, master, row.epoch);
            }
            master.knows_of_replicas(replicas_known_of(row));
            replicas_.insert(replicas_.end(), row.replicas.begin(), row.replicas.end());
        }
        for (std::size_t slot = 0; slot < hash_slots; ++slot) {
            if (named[slot]) continue;
            owners_[slot] = nullptr;
            // Who is given it next need not have a later epoch.
            owner_epochs_[slot] = 0;
        }
        common_.lobby.connected();
        leave_those_without_slots(due);
    }
    /// Of a shard, whoever of it is the master: the map leaves out those that have failed.
    std::size_t replicas_known_of(const ClusterMap::Row& row) {
        const auto known = count_replicas(row.master, row.replicas.size());
        for (const Host& replica : row.replicas) most_replicas_[key_of(replica)] = known;
        return *known;
    }
    void remember_replicas() {
        for (const auto& node : nodes_) count_replicas(node->host(), node->known_replicas());
    }
    std::shared_ptr<std::size_t> count_replicas(const Host& host, std::size_t count) {
        auto& known = most_replicas_[key_of(host)];
        if (!known) known = std::make_shared<std::size_t>();
        *known = std::max(*known, count);
        return known;
    }
    static std::pair<std::string, std::uint16_t> key_of(const Host& host) {
        return {host.name, host.port.value_or(0)};
    }

    void own(std::size_t slot, Node& master, std::uint64_t epoch) {
        if (epoch < owner_epochs_[slot]) return;
        owner_epochs_[slot] = epoch;
        change_owner(slot, master);
    }

    void end_look(Moment now, Due& due) {
        const bool all = is_nobody_asked();
        if (!all && !(accepted_ && now >= *accepted_ + grace)) return;
        looking_ = false;
        informants_.clear();
        if (accepted_) return name_what_is_missing();
        attempt_failed(why_not_.value_or(Failure{errc::unreachable, Effect::none,
                                                 common_.servers.shown() +
                                                     ": its nodes know an older state of it "
                                                     "than this client has seen"}),
                       due);
    }

    /// For whoever waits in vain.
    void name_what_is_missing() {
        for (const auto& request : common_.lobby.waiting()) {
            if (request->hash_slot == no_slot || owners_[request->hash_slot] != nullptr) continue;
            request->trouble = {errc::unreachable, Effect::none,
                                common_.servers.shown() + ": no node serves the hash slot " +
                                    std::to_string(request->hash_slot) + "; see CLUSTER SLOTS"};
        }
    }

    void leave_those_without_slots(Due& due) {
        leave_if([&](const Node& node) { return node.is_idle() && !serves_anything(node); }, due);
    }
    /// One that says nothing, and is no master any more: it may come back and not know.
    void leave_deposed(Moment now, Due& due) {
        leave_if(
            [&](const Node& node) { return node.is_in_trouble(now) && !serves_anything(node); },
            due);
    }
    template <class IsLeft>
    void leave_if(IsLeft is_left, Due& due) {
        for (std::size_t i = nodes_.size(); i-- > 0;) {
            if (is_left(*nodes_[i])) leave(*nodes_[i], due);
        }
    }
    void leave(Node& node, Due& due) {
        const Host host = node.host();
        if (ear_ == &node) ear_ = nullptr;
        retire(node, due);
        for (const auto& request : common_.lobby.waiting()) {
            if (!request->asking || request->only_at != host) continue;
            request->only_at.reset();
            request->asking = false;
        }
        const auto is_only_there = [&](const Request& request) { return request.only_at == host; };
        const Failure why{errc::unreachable, Effect::none,
                          common_.servers.shown() + ": it changed while it was listed; list again"};
        net::make_room(due, common_.lobby.waiting().size());
        net::finish(common_.lobby.give_up(is_only_there,
                                          [&](const Request&) -> const Failure& { return why; }),
                    due);
    }

    // By hash slot.
    std::vector<Node*> owners_;
    std::vector<std::uint64_t> owner_epochs_;  ///< the owners', when a map named them last
    std::vector<Host> replicas_;
    /// The largest number that was seen, by each of a shard in common.
    std::map<std::pair<std::string, std::uint16_t>, std::shared_ptr<std::size_t>> most_replicas_;
    Moment parting_until_{};
    Node* ear_ = nullptr;
    std::uint64_t epoch_ = 0;  ///< of the newest map
    bool is_old_ = false;      ///< a node said otherwise than the map

    bool looking_ = false;
    Moment next_look_{};
    std::size_t next_asked_ = 0;
    std::optional<Moment> accepted_;  ///< since it was last looked
    std::optional<Failure> why_not_;
};

}  // namespace

std::unique_ptr<Routes> cluster_routes(Routes::Common common) {
    return std::make_unique<ClusterRoutes>(std::move(common));
}

}  // namespace holdfast::inline v0::redis
