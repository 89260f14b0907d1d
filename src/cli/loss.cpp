#include "cli/loss.hpp"

#include <string>

#include "cli/format.hpp"
#include "cli/output.hpp"

namespace holdfast::cli {

std::string_view reason_of_loss(const Hold& hold) {
    switch (hold.loss()) {
        case Loss::overdue:
            return "the store was not heard of in time";
        case Loss::ended:
            return "the store says that it ended";
        case Loss::inherited:
            return "it belongs to another process";
        case Loss::none:
            break;
    }
    return "the lease ran out";
}

void tell_loss(const Hold& hold, std::string_view reason, std::string_view consequence) {
    const std::string fence = hold.fence() == 0 ? "" : formatted(" with fence {}", hold.fence());
    say(formatted("{}: hold{} lost ({}); {}", hold.name(), fence, reason, consequence));
}

}  // namespace holdfast::cli
