#include "stores/zookeeper/session.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace holdfast::inline v0::zookeeper {

namespace {

/// Of paths in one request: well below what a server takes (jute.maxbuffer, 1 MiB by default).
constexpr std::size_t most_bytes = std::size_t{128} << 10U;

/// Of what was answered, and not yet reported as far as is known.
constexpr std::size_t most_unreported = 16;

std::int32_t in_milliseconds(std::chrono::milliseconds time) {
    constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::min<std::int64_t>(time.count(), longest));
}

}  // namespace

void SessionProof::made(Moment sent) {
    heard_at_ = std::max(heard_at_, sent);
    unreported_.clear();
}

void SessionProof::taken_up(Moment sent) {
    unreported_.assign(1, {.sent = sent, .answered = sent - tick_});
}

void SessionProof::answered(Moment sent, Moment now) {
    // A few for each tick are enough.
    if (!unreported_.empty() && now - unreported_.back().answered < tick_ / 4) return;
    unreported_.push_back({sent, now});
    if (unreported_.size() > most_unreported) unreported_.pop_front();
}

void SessionProof::answered_by_majority(Moment sent) {
    while (!unreported_.empty() && unreported_.front().answered + tick_ <= sent) {
        heard_at_ = std::max(heard_at_, unreported_.front().sent);
        unreported_.pop_front();
    }
}

KeptSession::Greeting KeptSession::greeting() const {
    Greeting greeting;
    std::string& bytes = greeting.bytes;
    const auto watch_again = [&](const std::vector<std::string>& paths) {
        append_frame(bytes, watches_record(last_zxid_, paths));
        ++greeting.watches;
    };
    append_frame(bytes, record_of({.last_zxid = last_zxid_,
                                   .timeout_ms = in_milliseconds(term_),
                                   .id = id_,
                                   .password = password_}));
    if (!ensemble_.credentials.empty()) append_frame(bytes, digest_record(ensemble_.credentials));
    std::vector<std::string> paths;
    std::size_t size = 0;
    for (const std::string& path : watched_) {
        size += path.size() + sizeof(std::int32_t);
        paths.push_back(path);
        if (size < most_bytes) continue;
        watch_again(std::exchange(paths, {}));
        size = 0;
    }
    if (!paths.empty()) watch_again(paths);
    return greeting;
}

KeptSession::Fate KeptSession::answered(const SessionAnswer& answer, Moment asked) {
    if (answer.timeout_ms <= 0 || answer.id == 0) return Fate::over;
    const bool is_new = id_ == 0;
    password_ = answer.password;
    id_ = answer.id;
    timeout_ = std::chrono::milliseconds{answer.timeout_ms};
    if (timeout() < term_) limit_ = std::max(limit(), timeout());
    // A server's shortest session is two ticks.
    proof_.assume_tick(std::min<std::chrono::nanoseconds>(ensemble_.tick, timeout() / 2));
    if (is_new) {
        proof_.made(asked);
    } else {
        proof_.taken_up(asked);
    }
    return Fate::lives;
}

std::int64_t KeptSession::end() {
    password_.clear();
    watched_.clear();
    // A server that has not seen as much refuses us. That is for the sake of one session; servers
    // that were emptied, or restored, would never take us again.
    last_zxid_ = 0;
    return id_.exchange(0);
}

void KeptSession::saw(std::int64_t zxid) {
    if (zxid > 0) last_zxid_ = zxid;
}

}  // namespace holdfast::inline v0::zookeeper
