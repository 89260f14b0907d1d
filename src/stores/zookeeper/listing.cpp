#include <algorithm>
#include <utility>

#include "port/told_time.hpp"
#include "stores/listed/note.hpp"
#include "stores/zookeeper/failures.hpp"
#include "stores/zookeeper/protocol.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using namespace std::chrono_literals;

/// So that one request never stalls the connection for everybody else.
constexpr std::size_t most_at_once = 200;

/// Looks at one level of nodes after the other, and then at the contenders that it found there.
class Listing : public std::enable_shared_from_this<Listing> {
public:
    using LinesFlight = Flight<std::vector<Line>>;

    Listing(std::shared_ptr<LinesFlight> flight, std::string prefix)
        : flight_(std::move(flight)), prefix_(std::move(prefix)) {}

    void walk_from(Protocol& protocol, std::string path) {
        term_ = protocol.wire().any_term();
        to_list_.push_back(std::move(path));
        go_on(protocol);
    }
    /// Nothing below it is looked at.
    void look_at(Protocol& protocol, std::string path) {
        descends_ = false;
        walk_from(protocol, std::move(path));
    }

private:
    /// A contender whose node is to be read.
    struct Found {
        std::size_t line;
        Neighbour neighbour;
        bool admitted;
    };

    void go_on(Protocol& protocol) {
        if (!to_list_.empty()) return list_some(protocol);
        if (next_read_ < found_.size()) return read_some(protocol);
        finish();
    }

    void list_some(Protocol& protocol) {
        std::vector<std::string> paths;
        std::vector<Operation> operations;
        while (!to_list_.empty() && paths.size() < most_at_once) {
            paths.push_back(std::move(to_list_.back()));
            to_list_.pop_back();
            operations.push_back(list_with_stat(paths.back()));
        }
        // What this client has done is seen in any case; what others have, after this.
        if (!std::exchange(caught_up_, true)) operations.insert(operations.begin(), catch_up());
        protocol.submit(term_, {.operations = std::move(operations)},
                        [self = shared_from_this(), paths = std::move(paths)](
                            Protocol& alive, const Answer& answer) {
                            if (!answer.result.ok()) return self->fail(answer.result.failure());
                            const auto& replies = answer.result.value();
                            const std::size_t skipped = replies.size() - paths.size();
                            for (std::size_t i = 0; i < paths.size(); ++i) {
                                if (!self->take_node(alive, paths[i], replies[i + skipped])) return;
                            }
                            self->go_on(alive);
                        });
    }

    bool take_node(Protocol& protocol, const std::string& path, const Reply& reply) {
        // It has ended meanwhile, or never was.
        if (reply.refusal == Refusal::no_node) return true;
        if (!reply.ok()) {
            fail(failure_of(reply.refusal, protocol.ensemble()));
            return false;
        }
        const auto [children, stat] = reply.listing();
        const auto resource = protocol.paths.resource_of(path);
        if (resource && is_wanted(*resource)) {
            take_line(*resource, path, line_in(path, children), stat);
        }
        if (!descends_) return true;
        for (const std::string& child : children) {
            if (!neighbour_of(child) && leads_further(protocol, below(path, child))) {
                to_list_.push_back(below(path, child));
            }
        }
        return true;
    }

    bool is_wanted(const std::string& resource) const { return resource.starts_with(prefix_); }
    /// Whether what is listed may be at this node, or below it.
    bool leads_further(const Protocol& protocol, const std::string& path) const {
        const auto resource = protocol.paths.resource_of(path);
        if (!resource) return false;
        return is_wanted(*resource) || prefix_.starts_with(*resource + "/");
    }

    void take_line(const std::string& resource, const std::string& path,
                   const std::vector<Neighbour>& neighbours, const Stat& stat) {
        const bool barging = stat.ephemeral_owner != 0;
        if (neighbours.empty() && !barging) return;
        lines_.push_back({.resource = resource, .capacity = all, .holders = {}, .waiters = {}});
        Line& line = lines_.back();
        if (barging) {
            line.fairness = Fairness::barging;
            found_.push_back({lines_.size() - 1, {.node = path}, true});
            return;
        }
        line.capacity = neighbours.front().capacity;
        const std::size_t admitted = listed::admitted_in(neighbours);
        for (std::size_t i = 0; i < neighbours.size(); ++i) {
            found_.push_back({lines_.size() - 1, neighbours[i], i < admitted});
        }
    }

    void read_some(Protocol& protocol) {
        const std::size_t first = next_read_;
        std::vector<Operation> operations;
        while (next_read_ < found_.size() && operations.size() < most_at_once) {
            operations.push_back(read_node(found_[next_read_++].neighbour.node));
        }
        protocol.submit(term_, {.operations = std::move(operations)},
                        [self = shared_from_this(), first](Protocol& alive, const Answer& answer) {
                            if (!answer.result.ok()) return self->fail(answer.result.failure());
                            const auto& replies = answer.result.value();
                            for (std::size_t i = 0; i < replies.size(); ++i) {
                                self->take_contender(alive, self->found_[first + i], replies[i]);
                            }
                            self->go_on(alive);
                        });
    }

    void take_contender(const Protocol& protocol, const Found& found, const Reply& reply) {
        // Gone meanwhile; or we may not read it, and then it is shown by its name alone.
        if (!reply.ok() && reply.refusal != Refusal::no_auth) return;
        const auto content = reply.ok() ? reply.content() : Reply::Content{};
        const Stat& stat = content.stat;
        Line& line = lines_[found.line];
        Place place = listed::place_of(line.resource,
                                       {stat.ephemeral_owner, stat.czxid, found.neighbour.node},
                                       found.neighbour.weight, content.data);
        // Of our own it is known.
        if (const auto entrant = protocol.lines.entrants.find(place.ticket.nonce);
            !place.foreign && entrant) {
            place.lease_left = std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(
                                                 entrant->lease_end - BootClock::now()));
        }
        if (found.admitted) {
            place.fence = static_cast<std::uint64_t>(stat.czxid);
            line.holders.push_back(std::move(place));
        } else {
            place.age = since(stat);
            line.waiters.push_back(std::move(place));
        }
    }

    /// For people: by the clocks of two machines.
    static std::chrono::milliseconds since(const Stat& stat) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const auto age = std::chrono::floor<std::chrono::milliseconds>(now) -
                         told_as<std::chrono::milliseconds>(stat.ctime);
        return std::max(age, 0ms);
    }

    void finish() {
        std::erase_if(
            lines_, [](const Line& line) { return line.holders.empty() && line.waiters.empty(); });
        std::ranges::sort(lines_, {}, &Line::resource);
        flight_->complete(std::move(lines_));
    }

    void fail(Failure failure) { flight_->complete(std::move(failure)); }

    const std::shared_ptr<LinesFlight> flight_;
    const std::string prefix_;
    Term term_{};
    bool descends_ = true;
    bool caught_up_ = false;
    std::vector<std::string> to_list_;
    std::vector<Line> lines_;
    std::vector<Found> found_;
    std::size_t next_read_ = 0;
};

/// The node that all resources with this prefix are below, or are: up to its last slash.
std::string start_of(const Paths& paths, std::string_view prefix) {
    const auto slash = prefix.rfind('/');
    if (slash == std::string_view::npos) return paths.root();
    return paths.of(prefix.substr(0, slash));
}

}  // namespace

Pending<std::vector<Line>> Protocol::inspect(std::string prefix) {
    if (prefix.starts_with('/')) return leading_slash(ensemble());
    const auto flight = std::make_shared<Listing::LinesFlight>(wire_);
    std::string start = start_of(paths, prefix);
    std::make_shared<Listing>(flight, std::move(prefix))->walk_from(*this, std::move(start));
    return Pending<std::vector<Line>>(flight);
}

Pending<std::vector<Line>> Protocol::inspect_one(const std::string& resource) {
    if (resource.starts_with('/')) return leading_slash(ensemble());
    const auto flight = std::make_shared<Listing::LinesFlight>(wire_);
    std::make_shared<Listing>(flight, resource)->look_at(*this, paths.of(resource));
    return Pending<std::vector<Line>>(flight);
}

}  // namespace holdfast::inline v0::zookeeper
