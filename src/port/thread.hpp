#pragma once

#include <chrono>
#include <thread>

#include <holdfast/callback.hpp>
#include <holdfast/export.hpp>

namespace holdfast::inline v0 {

/// Starts a thread of ours. It takes no signal, for those are the application's, and carries a name
/// (at most 15 characters) that debuggers and top(1) show. Throws Error when there is no thread to
/// be had.
HOLDFAST_EXPORT std::thread start_thread(const char* name, Callback<void()> work);

/// Whether the caller is one of these. What it waits for, others wait for too.
HOLDFAST_EXPORT bool on_thread_of_ours() noexcept;

/// Readable once the program ends: for threads that wait inside a library, where nobody else tells
/// them. -1 when there is no descriptor to be had.
HOLDFAST_EXPORT int end_of_program() noexcept;

/// Waits until no thread of ours runs but perhaps the caller, at most for so long. For the end of
/// the program, which it tells: whatever a thread is in must not be unloaded under it.
HOLDFAST_EXPORT void await_threads(std::chrono::milliseconds at_most) noexcept;

}  // namespace holdfast::inline v0
