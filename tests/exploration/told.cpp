#include "exploration/stage.hpp"

namespace holdfast::exploration {

using What = Step::What;

namespace {

std::string name_of(std::size_t client) {
    return client == 0 ? "A" : "B";
}

std::string name_of(const Request& request) {
    if (request.kind == Request::Kind::enter) return "enter";
    if (request.kind == Request::Kind::leave) return "leave";
    return request.serial == 0 ? "write-back" : "renewal";
}

std::string name_of(const redlock::Vote& vote) {
    static const char* const names[] = {"nothing",   "admitted", "busy",  "gone",
                                        "forgetful", "ahead",    "silent"};
    const std::string name = names[static_cast<std::size_t>(vote.kind)];
    return vote.fence == 0 ? name : name + " with " + std::to_string(vote.fence);
}

}  // namespace

std::string Stage::told(const Step& step) const {
    switch (step.what) {
        case What::arrives:
        case What::arrives_twice: {
            const Message& one = messages_[step.about];
            const std::string what = name_of(one.client) + "'s " + name_of(one.letter.request);
            const std::string node = "node " + std::to_string(one.letter.node);
            const std::string twice = step.what == What::arrives_twice ? " for the first time" : "";
            if (!one.is_answer) return what + " arrives at " + node + twice;
            return what + " is answered by " + node + ": " + name_of(one.vote);
        }
        case What::enters:
            return name_of(step.about) + " enters";
        case What::gives_up:
            return name_of(step.about) + " gives up";
        case What::renews:
            return name_of(step.about) + " renews";
        case What::leaves:
            return name_of(step.about) + " leaves";
        case What::comes_back_empty:
            return "node " + std::to_string(step.about) + " comes back empty";
        case What::comes_back:
            return "node " + std::to_string(step.about) + " comes back with what it had";
        case What::time_passes:
            break;
    }
    return "a second passes";
}

}  // namespace holdfast::exploration
