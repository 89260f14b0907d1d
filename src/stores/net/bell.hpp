#pragma once

#include <memory>

namespace holdfast::inline v0::net {

/// Ends the poll() of whoever leads a Wire, from any thread: a descriptor of its own for the wire's
/// interrupt, for a look-up may end when the wire is gone. Copies ring the same.
class Bell {
public:
    /// Throws Error when there is no descriptor left.
    explicit Bell(int interrupt_descriptor);
    void ring() const noexcept;

private:
    std::shared_ptr<const int> descriptor_;
};

}  // namespace holdfast::inline v0::net
