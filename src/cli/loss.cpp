#include "cli/loss.hpp"

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
    say(formatted("{}: hold with fence {} lost ({}); {}", hold.name(), hold.fence(), reason,
                  consequence));
}

}  // namespace holdfast::cli
