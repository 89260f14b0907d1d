#include "stores/sql/calls.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/scripted/words.hpp"
#include "stores/sql/promises.hpp"

namespace holdfast::inline v0::sql {

namespace {

using scripted::from_hex;
using scripted::hex_of;

/// Before the names of lines whose locks are ShedLock's: no escaped name begins so.
constexpr std::string_view shared_line = "%shedlock/";
/// Before a name in hexadecimal digits, of a lock that ShedLock holds.
constexpr std::string_view foreign_line = "%shedlock=";
/// Of the column in ShedLock's table.
constexpr std::size_t longest_shared_name = 64;

std::string escaped(std::string_view name) {
    return scripted::escaped(name, scripted::Digits::lower);
}

}  // namespace

std::optional<std::string> unescaped(std::string_view text) {
    return scripted::unescaped(text, scripted::Digits::lower);
}

Tables tables_of(const StoreUrl& url) {
    const std::string layout = url.text("layout").value_or("holdfast");
    if (layout == "holdfast") return Tables::holdfast;
    if (layout == "shedlock") return Tables::shedlock;
    throw Error(errc::bad_configuration, url.shown + ": the parameter layout is '" + layout +
                                             "'; give holdfast or shedlock");
}

Capabilities Calls::capabilities() const {
    if (tables_ == Tables::holdfast) return in_tables_of_ours;
    return beside_shedlock;
}

Call Calls::call(std::string_view verb) const {
    return {.verb = std::string(verb), .rows = {}, .shared = tables_ == Tables::shedlock};
}

void Calls::add(Call& call, std::string_view resource, std::vector<std::string> words) const {
    auto& row = call.rows.emplace_back();
    row.reserve(words.size() + 2);
    row.push_back((call.shared ? std::string(shared_line) : "") + escaped(resource));
    for (std::string& word : words) row.push_back(std::move(word));
    if (call.shared) row.push_back(hex_of(resource));
}

Call Calls::enter(std::span<const Contender> contenders) const {
    Call call = this->call("enter");
    for (const Contender& one : contenders) {
        add(call, one.resource,
            {hex_of(one.nonce), client_, escaped(one.owner), escaped(one.host),
             std::to_string(one.pid), std::to_string(one.weight), std::to_string(one.capacity),
             one.fairness == Fairness::fifo ? "f" : "b", one.patience == Patience::wait ? "w" : "n",
             std::to_string(one.lease.count()), one.reenter ? "1" : "0"});
    }
    return call;
}

Call Calls::standing(const Ticket& ticket) const {
    Call call = this->call("standing");
    add(call, ticket.resource, {hex_of(ticket.nonce)});
    return call;
}

std::vector<scripted::Batch<Call>> Calls::renewals(std::span<const Ticket> tickets,
                                                   std::span<const std::size_t> which,
                                                   const Extension& extension) const {
    std::vector<std::size_t> order(which.begin(), which.end());
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) -> const auto& { return tickets[i].resource; });
    const std::string milliseconds = std::to_string(extension.lease.count());
    const std::string serial = std::to_string(extension.serial);
    std::vector<scripted::Batch<Call>> batches;
    for (const std::size_t i : order) {
        if (batches.empty() || tables_ == Tables::shedlock) batches.push_back({call("renew"), {}});
        add(batches.back().request, tickets[i].resource,
            {hex_of(tickets[i].nonce), milliseconds, serial});
        batches.back().which.push_back(i);
    }
    return batches;
}

Call Calls::leave(const Ticket& ticket, std::chrono::milliseconds tombstone) const {
    Call call = this->call("leave");
    call.place = ticket.place;
    add(call, ticket.resource, {hex_of(ticket.nonce), std::to_string(tombstone.count())});
    return call;
}

Call Calls::inspect(std::string_view prefix, const std::string& behind) const {
    Call call = this->call(tables_ == Tables::shedlock ? "shedlock_inspect" : "inspect");
    add(call, prefix, {behind});
    call.shared = false;
    return call;
}

Call Calls::look_at(std::string_view resource) const {
    if (tables_ == Tables::shedlock) return inspect(resource);
    Call call = this->call("look_at");
    add(call, resource, {});
    return call;
}

Call Calls::sweep(const std::string& behind) const {
    return {.verb = "sweep", .rows = {{behind}}};
}

std::optional<std::string> Calls::objection_to(const std::string& resource) const {
    if (tables_ == Tables::holdfast || resource.size() <= longest_shared_name) return std::nullopt;
    return "ShedLock's table has names of up to 64 bytes; choose a shorter one";
}

std::optional<std::string> Calls::resource_in(std::string_view text) const {
    if (tables_ == Tables::holdfast) return unescaped(text);
    if (text.starts_with(foreign_line)) return from_hex(text.substr(foreign_line.size()));
    if (!text.starts_with(shared_line)) return std::nullopt;
    return unescaped(text.substr(shared_line.size()));
}

}  // namespace holdfast::inline v0::sql
