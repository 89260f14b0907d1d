#pragma once

#include <string>

#include "port/failure.hpp"
#include "stores/sql/session.hpp"

namespace holdfast::inline v0::sql {

/// When this client has the server forget names that nobody uses any more, and which of them: a few
/// at a time, beside other work. Ids of lines are hashes, so each client goes round them from a
/// place of its own, and those that live for one lock alone are everywhere in the end. There is no
/// I/O in it.
///
/// As many steps are taken as there are releases to pay for them: a name that is used once costs a
/// share of a step, and where a step finds much, the next one follows soon.
class Forgetting {
public:
    Forgetting();

    /// A contender has left.
    void left() noexcept { releases_to_go_ -= releases_to_go_ > 0 ? 1 : 0; }
    bool is_due() const noexcept { return releases_to_go_ == 0 && !under_way_; }
    /// The step that is due. It is under way until it has ended.
    Call start();
    void ended(const Result<Reply>& result);

private:
    int releases_to_go_;
    std::string behind_;  ///< this id, in hexadecimal digits
    bool under_way_ = false;
};

}  // namespace holdfast::inline v0::sql
