#include "stores/mysql/seat.hpp"

#include <openssl/evp.h>

#include <array>
#include <functional>
#include <new>
#include <string_view>

#include "stores/scripted/words.hpp"

namespace holdfast::inline v0::mysql {

namespace {

/// Ends the place of one that took the seat when it entered.
constexpr char seated = '=';

/// Microseconds since 1970. SYSDATE is read when the row is locked; NOW() before that. It is in the
/// session's time zone: what that is ahead of UTC is taken off.
constexpr std::string_view now =
    "(TIMESTAMPDIFF(MICROSECOND,DATE'1970-01-01',SYSDATE(6))"
    "+1000000*TIMESTAMPDIFF(SECOND,NOW(),UTC_TIMESTAMP()))";
/// Only a planted fence is so large: what refuses it is in the procedures.
constexpr std::string_view fence_is_sane = "last_fence<9007199254740991";

/// As the procedures have it, where the server does it.
std::string id_of(std::string_view name) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(name.data(), name.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
        throw std::bad_alloc();
    }
    return scripted::hex_of({reinterpret_cast<const char*>(digest.data()), size});
}

/// The words of a call, as calls.cpp has them in order. They need no escapes.
class Words {
public:
    explicit Words(const sql::Call& call) : words_(call.rows.front()) {}
    std::string operator[](std::size_t i) const { return "'" + words_[i] + "'"; }
    const std::string& number(std::size_t i) const { return words_[i]; }
    std::string where() const { return " WHERE id=x'" + id_of(words_[0]) + "'"; }

private:
    const std::vector<std::string>& words_;
};

// Assignments are made from left to right, and see those before them.

/// Nobody is there: so it is admitted, whatever line it is.
std::string taking(const Words& word) {
    return "UPDATE holdfast_lines SET seat_since=" + std::string(now) +
           ",last_ticket=GREATEST(last_ticket+1,last_fence+1,seat_since)"
           ",last_fence=LAST_INSERT_ID(last_ticket),seat_ticket=last_ticket,seat_fence=last_ticket"
           ",seat_nonce=" +
           word[1] + ",seat_client=" + word[2] + ",seat_owner=" + word[3] +
           ",seat_host=" + word[4] + ",seat_pid=" + word[5] + ",capacity=" + word[7] +
           ",fairness=" + word[8] + ",seat_lease_end=seat_since+1000*" + word[10] +
           ",seat_claim_end=0,seat_waited=0,seat_serial=0" + word.where() +
           " AND seat_nonce='' AND crowd=0 AND " + std::string(fence_is_sane) +
           " AND last_ticket<9007199254740991";
}

/// Of one that is offered the seat, or has it: the row is locked before any other is looked at. One
/// that comes after a later one does nothing.
std::string renewing(const Words& word) {
    return "UPDATE holdfast_lines SET seat_since=IF(seat_claim_end=0,seat_since," +
           std::string(now) +
           "),last_fence=IF(seat_claim_end=0,last_fence,GREATEST(last_fence+1,seat_since))"
           ",seat_fence=LAST_INSERT_ID(IF(seat_claim_end=0,seat_fence,last_fence))"
           ",seat_claim_end=0,seat_told_to='',seat_serial=" +
           word.number(3) + ",seat_lease_end=1000*" + word[2] + "+" + std::string(now) +
           word.where() + " AND seat_nonce=" + word[1] + " AND seat_serial<=" + word.number(3) +
           " AND seat_lease_end>" + std::string(now) + " AND " + std::string(fence_is_sane);
}

std::string leaving(const Words& word) {
    return "UPDATE holdfast_lines SET seat_nonce='',seat_fence=LAST_INSERT_ID(seat_fence)" +
           word.where() + " AND seat_nonce=" + word[1] +
           " AND crowd=0 AND seat_claim_end=0 AND seat_lease_end>" + std::string(now);
}

}  // namespace

std::size_t Seat::index_of(const sql::Call& call) {
    return std::hash<std::string>{}(call.rows.front().front()) % decltype(crowded_){}.size();
}

std::optional<std::string> Seat::statement_for(const sql::Call& call) const {
    if (call.rows.size() != 1 || call.shared) return std::nullopt;
    const auto& row = call.rows.front();
    const Words words(call);
    if (call.verb == "enter") {
        const bool takes_all = row[6] == row[7];
        if (takes_all) return taking(words);
    } else if (call.verb == "renew") {
        return renewing(words);
    } else if (call.verb == "leave") {
        const bool leaves_nothing = row[2] == "0";
        const bool has_seat = call.place.ends_with(seated) && !crowded_[index_of(call)];
        if (leaves_nothing && has_seat) return leaving(words);
    }
    return std::nullopt;
}

std::vector<std::string> Seat::answer_to(const sql::Call& call, std::uint64_t number) {
    const std::string fence = std::to_string(number);
    return {"3", call.verb == "enter" ? fence + seated : "0", fence, "-1"};
}

void Seat::learn(const sql::Call& call, const sql::Reply& reply) {
    if (call.verb != "leave" || reply.rows.empty()) return;
    crowded_[index_of(call)] = reply.rows.front().back() == "0";
}

}  // namespace holdfast::inline v0::mysql
