#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <holdfast/callback.hpp>

#include "port/contender.hpp"
#include "port/failure.hpp"
#include "stores/memcached/applicants.hpp"
#include "stores/memcached/memcached_wire.hpp"

namespace holdfast::inline v0::memcached {

/// What all dealings of one client have in common. It belongs to `store`: when that is gone, nobody
/// wants an answer.
struct Desk {
    MemcachedWire& wire;
    Applicants& applicants;
    const std::string& description;
    std::weak_ptr<const void> store;
};

/// One verb of one contender, on its way: one request after the other, until it is answered where
/// it stands.
///
/// Who holds names the version of its item, on the connection that told it. Where that is gone, or
/// the version is another one, it looks whose item it is by now, and goes on with its version if it
/// is its own: so neither a copy that comes late, nor a server that was started again and counts
/// anew, has it touch the item of another. An item that it had kept, and that is as new, is one
/// that a late copy has made behind another's back: that is no hold any more.
class Dealing : public std::enable_shared_from_this<Dealing> {
public:
    using Told = Callback<void(Result<Standing>)>;

    /// `told` is called once, as one of the callbacks of the wire; also where there is no memory
    /// for a step of it.
    Dealing(Desk desk, std::shared_ptr<const Identity> who, Told told)
        : desk_(std::move(desk)),
          who_(std::move(who)),
          told_(std::move(told)),
          until_(desk_.wire.until()) {}

    /// For how long all of it is tried, if that is less than any request is.
    void be_patient_until(Moment moment) { until_ = std::min(until_, moment); }

    // Of one that this client contends with, and does not hold yet unless it is kept. Its item is
    // to live for the lease.

    /// Makes its item, if there is none.
    void take(std::chrono::milliseconds lease);
    /// Lengthens the life of its item, of this version. Never makes it again.
    void keep(const Version& version, std::chrono::milliseconds lease);
    /// Looks whether the lock is free; or is its own, by a copy that was believed to be lost.
    void look(std::chrono::milliseconds lease);

    // Of anybody.

    /// Ends its item, of this version.
    void give_back(const Version& version);
    /// Ends its item, if there is one. Otherwise it stood there: waiting, or nowhere.
    void take_out(Standing::State otherwise);
    /// Looks whether there is its item.
    void find();

private:
    template <class Step>
    void go_on(Step step);
    template <class Next>
    void ask(Command command, Next next, std::uint64_t only_on = 0);
    void add();
    void taken(const Answer& answer);
    void kept(const Answer& answer);
    void look();
    bool is_remade(const Reply& reply) const;
    bool shows_own(const Reply& reply) const;
    void seen(const Answer& answer);
    void seen_free(Moment sent);
    void seen_held(Moment sent);
    void keep(const Version& version);
    void admitted(const Version& version);
    void gone();
    void given_back(const Answer& answer);
    void search();
    void searched(const Answer& answer);
    void found(const Answer& answer);
    void failed(Failure failure);
    void tell(Result<Standing> result) { std::exchange(told_, Told())(std::move(result)); }
    Failure unexpected() const;

    const Desk desk_;
    const std::shared_ptr<const Identity> who_;
    Told told_;  ///< empty: it was called
    Moment until_;
    std::chrono::milliseconds lease_{0};
    bool adds_ = false;
    bool holds_ = false;
    std::optional<Version> known_;  ///< of its item, when it was told last that it holds
    Standing::State otherwise_ = Standing::State::gone;
    bool perhaps_done_ = false;  ///< a copy of what ends its item was lost
};

/// Ends, for a while and in the background, what a copy of a request of this contender may yet
/// make: it has left.
void keep_vigil(const Desk& desk, const std::shared_ptr<const Identity>& who);

}  // namespace holdfast::inline v0::memcached
