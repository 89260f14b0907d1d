#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "port/contender.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"
#include "stores/redlock/quorum.hpp"
#include "stores/redlock/redlock_scripts.hpp"
#include "stores/scripted/words.hpp"

namespace holdfast::inline v0::redlock {

/// A contender, as the nodes are told of it.
struct Profile {
    std::string resource;
    /// Of the resource: the first part of all its keys.
    std::string key;
    std::uint64_t weight = all;
    std::uint64_t capacity = all;
    /// For listings alone.
    std::string who;
    /// By what it is called when it should try again; empty when it does not wait.
    std::string caller;
};

/// What the nodes are asked, one like the other. Constant: all members may be called from any
/// thread.
class Requests {
public:
    /// `set`: of which nodes, as Nodes has it.
    Requests(Terms terms, std::string set) : terms_(terms), set_(std::move(set)) {
        enter_.comes_with(leave_);
    }
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    const Terms& terms() const noexcept { return terms_; }
    /// Where the nodes push to.
    std::string channel() const { return "holdfast:" + client_; }

    Profile profile_of(const Contender& contender) const;
    /// Of somebody of whom no more is known.
    Profile profile_of(const std::string& resource) const;

    /// Whoever is refused by others, and waits, is called for so long.
    redis::Command enter(const Profile& profile, const Nonce& nonce,
                         std::chrono::milliseconds lease, std::uint64_t proposal) const;
    redis::Command renew(const Profile& profile, const Nonce& nonce, const Extension& extension,
                         std::uint64_t fence) const;
    /// Whether others may come in once it has left.
    enum class Calls : std::uint8_t { made, none };
    /// For so long as `tombstone` says a delayed enter is refused.
    redis::Command leave(const Profile& profile, const Nonce& nonce,
                         std::chrono::milliseconds tombstone, Calls calls) const;
    redis::Command look(const std::string& key) const;
    /// A part of the keys of all resources that start like that.
    redis::Command scan(std::string_view prefix, const std::string& cursor) const;
    /// A part of all keys of ours, whatever they are for.
    redis::Command scan_all(const std::string& cursor) const;
    redis::Command mark() const;

    std::string key_of(std::string_view resource) const { return layout_->key_of(resource); }
    /// The resource whose holders are under this key; nothing when it is another kind of key.
    std::optional<std::string> resource_of(std::string_view key) const;

private:
    redis::Command about(const redis::Script& script, const std::string& key) const;

    const Terms terms_;
    const std::string set_;
    const std::string client_ = scripted::random_client();
    /// What keys are called is the same as on one Redis.
    const std::unique_ptr<const redis::Layout> layout_ = redis::holdfast_layout();
    redis::Script enter_{scripts::enter};
    const redis::Script renew_{scripts::renew};
    const redis::Script leave_{scripts::leave};
    const redis::Script look_{scripts::look};
    const redis::Script mark_{scripts::mark};
};

/// What a node has answered to an enter, a renewal or a leave.
struct Heard {
    struct Ages {
        /// For how long it has forgotten nothing.
        std::chrono::milliseconds counted{0};
        /// For how long its clients have named the nodes that they name.
        std::chrono::milliseconds named{0};
    };
    Vote vote;
    /// Its clock, if it has told.
    std::optional<std::chrono::microseconds> clock = std::nullopt;
    /// If it has told: to an enter alone.
    std::optional<Ages> ages = std::nullopt;
};
/// Of one that has not answered, or not as our scripts do: silent.
Heard heard_in(const redis::Answer& answer);

}  // namespace holdfast::inline v0::redlock
