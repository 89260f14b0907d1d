#pragma once

#include <thread>

#include <holdfast/callback.hpp>
#include <holdfast/export.hpp>

namespace holdfast::inline v0 {

/// Starts a thread of ours. It takes no signal, for those are the application's, and carries a name
/// (at most 15 characters) that debuggers and top(1) show. Throws Error when there is no thread to
/// be had.
HOLDFAST_EXPORT std::thread start_thread(const char* name, Callback<void()> work);

}  // namespace holdfast::inline v0
