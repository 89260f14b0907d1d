#include <utility>

#include <holdfast/client.hpp>

#include "core/alarm_thread.hpp"
#include "core/context.hpp"
#include "port/clock.hpp"
#include "stores/open_store.hpp"

namespace holdfast::inline v0 {

Client connect(std::string_view url, ClientOptions options) {
    OpenedStore opened = open_store(url, options.connection);
    return core::Context::client(core::Context::make({
        .store = std::move(opened.store),
        .clock = std::make_shared<SystemClock>(),
        .renewing = std::make_unique<core::AlarmThread>("holdfast-renew"),
        .telling = std::make_unique<core::AlarmThread>("holdfast-tell"),
        .prefix = std::move(opened.prefix),
        .url = std::move(opened.url),
        .options = std::move(options),
    }));
}

}  // namespace holdfast::inline v0
