#include <holdfast/observer.hpp>

namespace holdfast::inline v0 {

Observer::~Observer() = default;

void Observer::waiting(std::string_view) {}
void Observer::wait_ended(std::string_view, WaitEnd, std::chrono::nanoseconds) {}
void Observer::acquired(std::string_view, std::uint64_t, std::chrono::nanoseconds) {}
void Observer::renewed(std::string_view, std::uint64_t) {}
void Observer::released(std::string_view, std::uint64_t, Released) {}
void Observer::lost(std::string_view, std::uint64_t, Loss) {}
void Observer::store_failed(std::string_view) {}
void Observer::store_answers() {}

}  // namespace holdfast::inline v0
