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
        state_->release();
    }
}

std::uint64_t Hold::fence() const noexcept {
    return state_->fences().front();
}
const std::vector<std::uint64_t>& Hold::fences() const noexcept {
    return state_->fences();
}
const std::string& Hold::name() const noexcept {
    return state_->name();
}
bool Hold::held() const noexcept {
    return state_->held();
}
std::chrono::nanoseconds Hold::remaining() const noexcept {
    return state_->remaining();
}
std::stop_token Hold::lost() const noexcept {
    return state_->lost();
}
Loss Hold::loss() const noexcept {
    return state_->loss();
}
Released Hold::release() noexcept {
    return state_->release();
}

}  // namespace holdfast::inline v0
