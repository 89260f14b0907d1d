#pragma once

#include <exception>

namespace holdfast::inline v0::listed {

/// Several steps that are all done, also when some of them throw (no memory, say): of those the
/// first exception is what they end by.
class FirstException {
public:
    template <class Step>
    void of(const Step& step) {
        try {
            step();
        } catch (...) {
            if (!first_) first_ = std::current_exception();
        }
    }
    /// After all steps.
    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

private:
    std::exception_ptr first_;
};

}  // namespace holdfast::inline v0::listed
