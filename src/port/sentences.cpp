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

Failure perhaps_done(std::string_view store) {
    return {errc::unreachable, Effect::unknown,
            std::string(store) +
                ": the connection broke while it was given back; an earlier copy of the request "
                "may have done it"};
}

Failure timed_out(std::string_view store, std::chrono::milliseconds limit,
                  std::string_view last_try) {
    std::string sentence =
        std::string(store) + ": no answer in " + std::to_string(limit.count()) + " ms";
    if (!last_try.empty()) sentence.append(" (the last try: ").append(last_try).append(")");
    return {errc::unreachable, Effect::none,
            sentence + "; check that it is up, or raise request_timeout"};
}

}  // namespace holdfast::inline v0
