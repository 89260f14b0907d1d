#pragma once

#include <vector>

#include <holdfast/callback.hpp>

namespace holdfast::inline v0::etcd {

/// What a completion queue brings back: one of these for each operation that is under way on it.
class Arrival {
public:
    using Due = std::vector<Callback<void()>>;

    virtual ~Arrival() = default;
    /// `ok` as gRPC has it. With the wire's lock held; whom it concerns is told by `due`.
    virtual void arrived(bool ok, Due& due) = 0;
};

}  // namespace holdfast::inline v0::etcd
