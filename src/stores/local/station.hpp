#pragma once

#include <mutex>
#include <optional>

#include "port/wire.hpp"
#include "stores/ledger/records.hpp"
#include "stores/local/descriptor.hpp"
#include "stores/local/folder.hpp"

namespace holdfast::inline v0::local {

/// Where the callers of a local store wait: for the doorbell, and for the end of processes.
class Station final : public Wire {
public:
    using Wire::Due;

    /// What the leader's turn has to do. No member may throw; callbacks go to `due`.
    class Duties {
    public:
        virtual ~Duties() = default;
        virtual void hear(Due& due) noexcept = 0;
        virtual void process_ended(ledger::ClientId client, Due& due) noexcept = 0;
        /// Looks at those whose end no descriptor tells.
        virtual void look_around(Due& due) noexcept = 0;
        /// The moment until which the leader may sleep at the most.
        virtual std::optional<Moment> next_look() noexcept = 0;
    };

    /// Throws Error when the process is out of descriptors.
    Station(const Folder& folder, Duties& duties);
    ~Station() override;

    /// What else is waited for is added here: with a client's id for the end of its process.
    int epoll() const noexcept { return epoll_.get(); }
    void listen(int doorbell);

    /// Leaves a callback to whoever leads, because the caller may hold a lock.
    void leave_to_leader(Callback<void()> callback);

    /// Ends the leader's sleep, so that it asks for next_look() again.
    void wake_leader() noexcept;

    /// Ends the pump thread: no callback starts after it.
    void stop() noexcept { close(); }

protected:
    void turn(std::optional<Moment> until, Due& due) override;

private:
    void add(int descriptor, std::uint64_t key);
    void serve(std::uint64_t key, Due& due);

    const Folder& folder_;
    Duties& duties_;
    Descriptor epoll_;
    std::mutex mutex_;
    Due left_;
};

}  // namespace holdfast::inline v0::local
