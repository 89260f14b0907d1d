#include "port/sentences.hpp"

#include <string>

#include "port/contender.hpp"

namespace holdfast::inline v0 {

namespace {

std::string in_words(Usage usage) {
    const std::string kind = usage.capacity == all ? "an exclusive or shared lock"
                                                   : std::to_string(usage.capacity) + " permits";
    return kind + (usage.fairness == Fairness::fifo ? ", fifo" : ", barging");
}

}  // namespace

Failure conflict(Usage in_use, Usage asked) {
    return {errc::conflict, Effect::none,
            "it is in use as " + in_words(in_use) + ", and asked for as " + in_words(asked) +
                "; all its users must agree"};
}

Failure deadlock(std::string_view owner) {
    return {
        errc::deadlock, Effect::none,
        std::string(owner) + " holds a share of it already and asks for more; release that first"};
}

Failure withdrawn() {
    return {errc::cancelled, Effect::none, "this request was withdrawn before it came"};
}

}  // namespace holdfast::inline v0
