#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/contender.hpp"
#include "port/failure.hpp"
#include "stores/listed/entrants.hpp"

namespace holdfast::inline v0::zookeeper {

class Protocol;

/// The ends that are under way of nodes whose name another one may have next: the resource's own,
/// with barging. Of each incarnation there is one at a time, whoever asks for it, and however many:
/// a second deletion could come after the next one has the name, and hit it.
/// Threads: all members may be called from any thread.
class Endings {
public:
    /// Admitted: it was there.
    using Ended = Callback<void(Protocol&, const Result<Standing>&)>;

    /// Somebody asks for it. Whether he is the first: then he is to end it.
    [[nodiscard]] bool begins(const listed::Incarnation& place, Ended ended);
    /// Whom to tell what came of it.
    std::vector<Ended> is_over(const listed::Incarnation& place);

private:
    std::mutex mutex_;
    /// By its name, and what made it.
    std::map<std::pair<std::string, std::int64_t>, std::vector<Ended>> waiting_;
};

}  // namespace holdfast::inline v0::zookeeper
