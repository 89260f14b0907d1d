#include "stores/etcd/looking.hpp"

#include <utility>

#include "stores/etcd/transactions.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using Listed = EtcdWire::AnswerTo<messages::RangeRequest>;
using LookFlight = std::shared_ptr<Flight<Standing>>;

enum class Depth : std::uint8_t { last_two, whole_line };

void look(Common& common, const Member& member, Depth depth, const LookFlight& flight) {
    const auto up_to = static_cast<std::int64_t>(member.fence);
    const auto operation =
        depth == Depth::last_two ? list_last(2, member.path, up_to) : list(member.path, up_to);
    common.submit(operation.request_range(), [member, depth, flight](Common& alive,
                                                                     const Listed& answer) {
        if (!answer.result.ok()) return flight->complete(answer.result.failure());
        const auto& pairs = answer.result.value().kvs();
        const auto line = seats_in(pairs, member.path);
        // The one before it may be of another line, whose name begins like this one's, or be
        // about to leave because it disagrees with those before it.
        const bool hidden = line.size() < static_cast<std::size_t>(pairs.size());
        const bool disagrees = !line.empty() && line.front().capacity != member.contender.capacity;
        if (depth == Depth::last_two && (hidden || disagrees)) {
            return look(alive, member, Depth::whole_line, flight);
        }
        if (!alive.roster.find(member.nonce())) return flight->complete(Standing{});
        flight->complete(alive.stands(member, line, answer.result.value().header().revision()));
    });
}

}  // namespace

Pending<Standing> look_at_member(const std::shared_ptr<Common>& common, const Member& member) {
    const auto flight = std::make_shared<Flight<Standing>>(common->wire);
    // Of one that leaves no room for others, who is next before it is all that matters.
    const bool exclusive = member.contender.weight == member.contender.capacity;
    look(*common, member, exclusive ? Depth::last_two : Depth::whole_line, flight);
    return Pending<Standing>(flight);
}

}  // namespace holdfast::inline v0::etcd
