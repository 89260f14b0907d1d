#include <holdfast/observer.hpp>

namespace holdfast::inline v0 {

Observer::~Observer() = default;

void Observer::waiting(std::string_view) {}
void Observer::acquired(std::string_view, std::uint64_t, std::chrono::nanoseconds) {}
void Observer::released(std::string_view, std::uint64_t, Released) {}
void Observer::lost(std::string_view, std::uint64_t, Loss) {}
void Observer::store_failed(std::string_view) {}

}  // namespace holdfast::inline v0
