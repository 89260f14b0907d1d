#include "cli/connecting.hpp"

#include <poll.h>

#include <array>
#include <thread>

#include <holdfast/error.hpp>

#include "cli/descriptor.hpp"

namespace holdfast::cli {
namespace {

/// While it lives, signals are obeyed.
class Obedience {
public:
    explicit Obedience(const Signals& signals) : listener_([this, &signals] { listen(signals); }) {}
    ~Obedience() {
        finished_.set();
        listener_.join();
    }
    Obedience(const Obedience&) = delete;
    Obedience& operator=(const Obedience&) = delete;

private:
    void listen(const Signals& signals) const {
        std::array<pollfd, 2> sources{pollfd{finished_.descriptor(), POLLIN, 0},
                                      pollfd{signals.descriptor(), POLLIN, 0}};
        while (sources[0].revents == 0) {
            poll(sources.data(), sources.size(), -1);
            obey(signals);
        }
    }

    static void obey(const Signals& signals) {
        try {
            signals.obey();
        } catch (const EndedBySignal& ended) {
            die_by(ended.signal);
        }
    }

    Event finished_;
    std::thread listener_;
};

}  // namespace

void refuse_private(const std::string& url) {
    if (!url.starts_with("memory:")) return;
    throw Error(errc::bad_configuration,
                "memory: is inside one process and would exclude nobody; leave -S out for this "
                "machine");
}

Client connect_to(const std::string& url) {
    Client client = connect(url);
    refuse_private(client.store());
    return client;
}

bool is_on_this_machine(const std::string& url) {
    return url.empty() || url.starts_with("local:");
}

Client connect_unless_ended(const std::string& url, const Signals& signals) {
    if (is_on_this_machine(url)) return connect_to(url);
    const Obedience obedience(signals);
    return connect_to(url);
}

}  // namespace holdfast::cli
