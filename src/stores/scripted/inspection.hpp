#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/contender.hpp"
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
        for (auto& [request, about] : inquiries) {
            protocol_.wire().submit(std::move(request),
                                    [self = this->shared_from_this(),
                                     word = std::move(about)](typename P::Answer answer) {
                                        if (const auto store = self->store_.lock()) {
                                            self->answered(word, std::move(answer));
                                        }
                                    });
        }
    }

    void answered(const std::string& about, typename P::Answer answer) {
        auto [more, complete] = take(about, std::move(answer));
        if (!complete) return ask(std::move(more));
        if (failure_) return flight_.complete(*std::move(failure_));
        flight_.complete(listing_.lines());
    }

    /// What is to be asked further, and whether everything is there now.
    std::pair<Inquiries, bool> take(const std::string& about, typename P::Answer answer) {
        const std::lock_guard guard(mutex_);
        Inquiries more;
        if (answer.result.ok()) {
            more = listing_.take(about, std::move(answer.result).value());
        } else {
            failure_ = answer.result.failure();
        }
        due_ += more.size();
        return {std::move(more), --due_ == 0};
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
