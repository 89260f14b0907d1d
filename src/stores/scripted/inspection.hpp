#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/contender.hpp"
#include "port/failure.hpp"
#include "port/pending.hpp"
#include "stores/scripted/protocol.hpp"

namespace holdfast::inline v0::scripted {

/// Has a listing answered, piece by piece: each is a request of its own, so that however much there
/// is, none takes long. Callbacks of several turns may run at the same time.
template <Protocol P>
class Inspection : public std::enable_shared_from_this<Inspection<P>> {
public:
    /// The protocol belongs to `store`.
    Inspection(P& protocol, std::weak_ptr<const void> store, typename P::Listing listing)
        : protocol_(protocol),
          store_(std::move(store)),
          flight_(protocol.wire()),
          listing_(std::move(listing)) {}

    Pending<std::vector<Line>> start() {
        auto inquiries = listing_.start();
        due_ = inquiries.size();
        ask(std::move(inquiries));
        return Pending<std::vector<Line>>({this->shared_from_this(), &flight_});
    }

private:
    using Inquiries = std::vector<typename P::Listing::Inquiry>;

    /// When the store is gone, nobody wants the answer.
    void ask(Inquiries inquiries) {
        for (auto& inquiry : inquiries) {
            if (auto asked = submit(std::move(inquiry)); !asked.ok()) {
                answered({}, std::move(asked).failure());
            }
        }
    }

    /// One that cannot even be asked is answered by that.
    Result<bool> submit(typename P::Listing::Inquiry inquiry) {
        return or_out_of_memory<bool>([&] {
            auto& [request, about] = inquiry;
            protocol_.wire().submit(std::move(request),
                                    [self = this->shared_from_this(),
                                     word = std::move(about)](typename P::Answer answer) {
                                        if (const auto store = self->store_.lock()) {
                                            self->answered(word, std::move(answer.result));
                                        }
                                    });
            return true;
        });
    }

    void answered(const std::string& about, Result<typename P::Reply> answer) {
        auto [more, complete] = take(about, std::move(answer));
        if (!complete) return ask(std::move(more));
        if (failure_) return flight_.complete(*std::move(failure_));
        flight_.complete_with([&] { return listing_.lines(); });
    }

    /// What is to be asked further, and whether everything is there now.
    std::pair<Inquiries, bool> take(const std::string& about, Result<typename P::Reply> answer) {
        const std::lock_guard guard(mutex_);
        auto more = or_out_of_memory<Inquiries>([&]() -> Result<Inquiries> {
            if (!answer.ok()) return std::move(answer).failure();
            return listing_.take(about, std::move(answer).value());
        });
        --due_;
        if (!more.ok()) {
            failure_ = std::move(more).failure();
            return {Inquiries{}, due_ == 0};
        }
        due_ += more.value().size();
        return {std::move(more).value(), due_ == 0};
    }

    P& protocol_;
    const std::weak_ptr<const void> store_;
    Flight<std::vector<Line>> flight_;
    std::mutex mutex_;
    typename P::Listing listing_;
    std::size_t due_ = 0;
    std::optional<Failure> failure_;
};

}  // namespace holdfast::inline v0::scripted
