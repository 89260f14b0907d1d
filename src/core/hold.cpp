#include <holdfast/hold.hpp>

#include <utility>

#include "core/hold_state.hpp"

namespace holdfast::inline v0 {

Hold::Hold(std::shared_ptr<core::HoldState> state) noexcept : state_(std::move(state)) {}

Hold::Hold(Hold&&) noexcept = default;

Hold& Hold::operator=(Hold&& other) noexcept {
    if (this != &other) {
        const Hold old(std::move(*this));
        state_ = std::move(other.state_);
    }
    return *this;
}

Hold::~Hold() {
    if (!state_) return;
    if (state_->inherited()) {
        // Leaked: in a forked child nothing of the parent's may be touched.
        new std::shared_ptr<core::HoldState>(std::move(state_));
    } else {
        state_->let_go();
    }
}

std::uint64_t Hold::fence() const noexcept {
    return state_ ? state_->fences().front() : 0;
}
const std::vector<std::uint64_t>& Hold::fences() const noexcept {
    static const auto& none = *new std::vector<std::uint64_t>;
    return state_ ? state_->fences() : none;
}
const std::string& Hold::name() const noexcept {
    static const auto& none = *new std::string;
    return state_ ? state_->name() : none;
}
bool Hold::held() const noexcept {
    return state_ && state_->held();
}
std::chrono::nanoseconds Hold::remaining() const noexcept {
    return state_ ? state_->remaining() : std::chrono::nanoseconds::zero();
}
std::stop_token Hold::lost() const noexcept {
    return state_ ? state_->lost() : core::HoldState::nothing_held();
}
Loss Hold::loss() const noexcept {
    return state_ ? state_->loss() : Loss::none;
}
bool Hold::lengthen(std::chrono::milliseconds lease) noexcept {
    return state_ && state_->lengthen(lease);
}
Released Hold::release() noexcept {
    return state_ ? state_->release() : Released::unknown;
}
void Hold::async_release(OnReleased done) noexcept {
    if (state_) {
        state_->release_unwaited(std::move(done));
    } else if (done) {
        done(Released::unknown);
    }
}

}  // namespace holdfast::inline v0
