#pragma once

#include <chrono>
#include <cstdint>

#include "port/fork.hpp"
#include "stores/ledger/records.hpp"
#include "stores/local/folder.hpp"

namespace holdfast::inline v0::local {

using ledger::ClientId;

/// The ids that clients may have: each stands for two bytes of the file `control`.
inline constexpr ClientId id_limit = ClientId{1} << 61;

/// A client's pulse: a locked byte of the file `control`, which the kernel frees when the client's
/// process ends, however it ends. It is locked on an open file description of its own that a
/// forked child closes at once, so that no child keeps a dead parent's pulse.
/// The same description guards the door: byte 0, held while a client opens the store.
class Pulse {
public:
    explicit Pulse(Descriptor control_file);

    /// Keeps those out who would start the store afresh, until close_door(). Throws Error when
    /// somebody does that for longer than `patience`.
    void open_door(const Folder& folder, std::chrono::milliseconds patience);
    /// Keeps everybody else out who opens the store.
    void bar_door(const Folder& folder, std::chrono::milliseconds patience);
    void close_door() noexcept;

    /// Starts the pulse of a client, for the rest of this object's life.
    void start(const Folder& folder, ClientId client);

    int descriptor() const noexcept { return file_.get(); }

private:
    void lock_door(short kind, const Folder& folder, std::chrono::milliseconds patience);

    ClosedInChild file_;
};

/// Whether a client has a pulse, and whether any has. Both look through a description that has none
/// of its own.
bool has_pulse(int control_file, ClientId client);
bool anybody_has_pulse(int control_file);

/// A client's badge: a second byte, locked on the given description, which a forked child must
/// close at once. A pulse may be shared with a warden that outlives the process, a badge may not:
/// it says whether the process itself can still write.
void take_badge(const Folder& folder, int control_file, ClientId client);
/// Whether a client has a badge: another one than that of the description.
bool has_badge(int control_file, ClientId client);

}  // namespace holdfast::inline v0::local
