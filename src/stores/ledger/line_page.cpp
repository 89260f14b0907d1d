#include "stores/ledger/line_page.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::ledger {

namespace {

/// How many waiters a release under barging looks at: beyond that they learn of free room with
/// their renewals, so that a long line of heavy contenders costs nothing each time.
constexpr int barging_reach = 64;
/// How many of the first in line look by themselves.
constexpr int lookers = 8;

Moment end_of(const Record& record) {
    return record.phase == Phase::offered ? std::min(record.claim_end, record.lease_end)
                                          : record.lease_end;
}

}  // namespace

ResourceId id_of(std::string_view resource) {
    const XXH128_hash_t hash = XXH3_128bits(resource.data(), resource.size());
    ResourceId id;
    std::memcpy(id.data(), &hash, sizeof id);
    return id;
}

LinePage::LinePage(Scene& scene, std::vector<Told>& told, std::string_view resource)
    : scene_(scene), told_(told), id_(id_of(resource)), name_(resource) {
    if (const auto name = load(); name && *name != name_) {
        throw Error(errc::corrupt, "the name collides with that of another resource; rename it");
    }
}

LinePage::LinePage(Scene& scene, std::vector<Told>& told, const ResourceId& id)
    : scene_(scene), told_(told), id_(id) {
    own_name_ = load().value_or("");
    name_ = own_name_;
}

/// The head, if there is one; the name that follows it.
std::optional<std::string_view> LinePage::load() {
    const auto value = scene_.table.get(head_key(id_));
    if (!value) return std::nullopt;
    const auto row = Row<Head>::decode(*value);
    head_ = row.fixed;
    stored_ = true;
    return row.text;
}

void LinePage::start(std::uint64_t capacity, Fairness fairness) {
    assert(empty());
    head_ = Head{.capacity = capacity, .fairness = fairness};
    changed_ = true;
}

void LinePage::save() {
    if (empty()) {
        if (stored_) scene_.table.erase(head_key(id_));
        stored_ = false;
    } else if (changed_) {
        scratch_.assign(reinterpret_cast<const char*>(&head_), sizeof head_);
        scratch_.append(name_);
        scene_.table.put(head_key(id_), scratch_);
        stored_ = true;
    }
    changed_ = false;
}

std::optional<Row<Record>> LinePage::holder(const Nonce& nonce) const {
    const auto value = scene_.table.get(holder_key(id_, nonce));
    if (!value) return std::nullopt;
    return Row<Record>::decode(*value);
}

std::optional<Row<Record>> LinePage::waiter(std::uint64_t ticket, const Nonce& nonce) const {
    const auto value = scene_.table.get(waiter_key(id_, ticket));
    if (!value) return std::nullopt;
    const auto row = Row<Record>::decode(*value);
    if (row.fixed.nonce != nonce) return std::nullopt;
    return row;
}

std::optional<Record> LinePage::holder_of(std::string_view owner) const {
    for (const auto& row : holders()) {
        const bool own_place = row.fixed.phase == Phase::admitted && row.fixed.weight > 0;
        if (own_place && row.fixed.owner(row.text) == owner) return row.fixed;
    }
    return std::nullopt;
}

std::vector<Row<Record>> LinePage::holders() const {
    std::vector<Row<Record>> found;
    scene_.table.for_each(Key('b') << id_, [&](const Table::Row& row) {
        found.push_back(Row<Record>::decode(row.value));
    });
    return found;
}

std::vector<Row<Record>> LinePage::waiters() const {
    std::vector<Row<Record>> found;
    for (auto row = next_waiter(0); row; row = next_waiter(row->fixed.ticket + 1)) {
        found.push_back(*row);
    }
    return found;
}

std::optional<Row<Record>> LinePage::next_waiter(std::uint64_t from) const {
    const auto row = scene_.table.at_or_after(waiter_key(id_, from));
    if (!row || !row->key.starts_with(Key('c') << id_)) return std::nullopt;
    return Row<Record>::decode(row->value);
}

bool LinePage::admits(std::uint64_t weight) const {
    if (!has_room(weight)) return false;
    const std::uint64_t room = head_.capacity - head_.held_weight - weight;
    return head_.fairness == Fairness::barging || head_.waiting_weight <= room;
}

void LinePage::add_holder(const Record& record, std::string_view text) {
    put_record(holder_key(id_, record.nonce), record, text);
    count_holder(record);
}

void LinePage::count_holder(const Record& record) {
    ++head_.holders;
    if (record.weight == 0) ++head_.joined;
    head_.held_weight += record.weight;
    head_.earliest_end = std::min(head_.earliest_end, end_of(record));
    changed_ = true;
}

void LinePage::add_waiter(Record record, std::string_view text) {
    // Those who were passed over have no weight here: nobody is to rely on them.
    record.ahead = head_.waiting_weight == 0 ? 0 : head_.last_waiter;
    head_.last_waiter = record.client;
    put_waiter(record, text);
}

void LinePage::put_waiter(const Record& record, std::string_view text) {
    put_record(waiter_key(id_, record.ticket), record, text);
    const Key where = Key('.') << id_ << record.ticket;
    scene_.table.put(index_key(record.client, record.nonce), std::string_view(where).substr(1));
    ++head_.waiters;
    if (record.phase == Phase::waiting) head_.waiting_weight += record.weight;
    changed_ = true;
}

void LinePage::update(const Record& record) {
    const bool waits = record.phase == Phase::waiting || record.phase == Phase::lapsed;
    const Key key = waits ? waiter_key(id_, record.ticket) : holder_key(id_, record.nonce);
    const auto before = Row<Record>::decode(scene_.table.get(key).value());
    if (waits) {
        if (before.fixed.phase == Phase::waiting) head_.waiting_weight -= record.weight;
        if (record.phase == Phase::waiting) head_.waiting_weight += record.weight;
        changed_ = changed_ || before.fixed.phase != record.phase;
    } else if (end_of(record) < head_.earliest_end) {
        head_.earliest_end = end_of(record);
        changed_ = true;
    }
    const std::string text(before.text);
    put_record(key, record, text);
}

void LinePage::remove_holder(const Record& record) {
    if (record.weight > 0 && head_.joined > 0) hand_to_joined(record);
    const auto now = holder(record.nonce);
    assert(now);
    --head_.holders;
    if (now->fixed.weight == 0) --head_.joined;
    head_.held_weight -= now->fixed.weight;
    if (head_.holders == 0) head_.earliest_end = Moment::max();
    freed_ = changed_ = true;
    scene_.table.erase(holder_key(id_, record.nonce));
}

/// The place frees with the last of those who share it: another one takes over the weight.
void LinePage::hand_to_joined(const Record& record) {
    for (const auto& row : holders()) {
        if (row.fixed.fence != record.fence || row.fixed.weight != 0) continue;
        Record heir = row.fixed;
        heir.weight = record.weight;
        update(heir);
        Record emptied = record;
        emptied.weight = 0;
        update(emptied);
        return;
    }
}

void LinePage::remove_waiter(const Record& record) {
    erase_waiter(record);
    const auto successor = next_waiter(record.ticket + 1);
    if (!successor) {
        head_.last_waiter = record.ahead;
    } else if (successor->fixed.ahead != record.ahead) {
        Record follower = successor->fixed;
        follower.ahead = record.ahead;
        update(follower);
        // It must watch another process from now on, or is the first in line.
        tell(follower, Standing::State::waiting);
    }
}

void LinePage::erase_waiter(const Record& record) {
    scene_.table.erase(waiter_key(id_, record.ticket));
    scene_.table.erase(index_key(record.client, record.nonce));
    --head_.waiters;
    if (record.phase == Phase::waiting) head_.waiting_weight -= record.weight;
    changed_ = true;
}

void LinePage::promote(Record record, Phase phase) {
    const auto row = waiter(record.ticket, record.nonce);
    const std::string text(row->text);
    if (phase == Phase::admitted) {
        // A barger leaves the line from wherever it stands: the one behind it must know.
        remove_waiter(Record(row->fixed));
    } else {
        erase_waiter(row->fixed);
    }
    record.phase = phase;
    add_holder(record, text);
}

void LinePage::advance() {
    if (scene_.now >= head_.earliest_end) end_overdue_holders();
    const bool may_move = head_.fairness == Fairness::fifo || freed_;
    if (may_move && head_.waiters > 0 && head_.held_weight < head_.capacity) pass_on();
    freed_ = false;
}

void LinePage::end_overdue_holders() {
    const auto all_holders = holders();
    std::vector<std::pair<Record, std::string>> overdue;
    for (const auto& row : all_holders) {
        if (end_of(row.fixed) <= scene_.now) overdue.emplace_back(row.fixed, row.text);
    }
    for (const auto& [record, text] : overdue) {
        // Its weight may have become another one's by joining since it was read.
        const Record current = holder(record.nonce)->fixed;
        remove_holder(current);
        if (current.phase == Phase::offered && !current.over(scene_.now)) lapse(current, text);
    }
    head_.earliest_end = Moment::max();
    for (const auto& row : holders()) {
        head_.earliest_end = std::min(head_.earliest_end, end_of(row.fixed));
    }
    changed_ = true;
}

/// It keeps its ticket, and is passed over until it is heard of.
void LinePage::lapse(Record record, std::string_view text) {
    record.phase = Phase::lapsed;
    record.ahead = 0;
    put_waiter(record, text);
}

/// Fifo: reserves places for the first in line until one does not fit. Barging: reserves nothing,
/// and tells those that would fit. The one behind them becomes the stand-by.
void LinePage::pass_on() {
    std::uint64_t room = head_.capacity - head_.held_weight;
    bool moved = false;
    int looked_at = 0;
    for (auto row = next_waiter(0); row; row = next_waiter(row->fixed.ticket + 1)) {
        const Record record = row->fixed;
        if (record.over(scene_.now)) {
            erase_waiter(record);
            moved = true;
        } else if (record.phase == Phase::lapsed) {
            continue;
        } else if (room > 0 && record.weight <= room) {
            room -= record.weight;
            moved = true;
            tell(record, Standing::State::offered);
            if (head_.fairness == Fairness::fifo) {
                Record chosen = record;
                chosen.claim_end = scene_.now + claim_time;
                promote(chosen, Phase::offered);
            }
        } else {
            if (moved || record.ahead != 0) make_first(record);
            if (head_.fairness == Fairness::fifo || room == 0) return;
            if (++looked_at == barging_reach) return;
        }
    }
}

void LinePage::make_first(Record record) {
    if (record.ahead != 0) {
        record.ahead = 0;
        update(record);
    }
    tell(record, Standing::State::waiting);
}

void LinePage::tell(const Record& record, Standing::State state) {
    told_.push_back({.client = record.client, .nonce = record.nonce, .state = state});
}

/// The stand-by may hang as the holder does: the next ones look a claim time after each other. And
/// where there is room but for the stand-by, its end is what they wait for.
std::optional<std::chrono::nanoseconds> LinePage::look_again(std::uint64_t ticket) const {
    constexpr std::chrono::nanoseconds at_least = std::chrono::milliseconds{1};
    int ahead = 0;
    Moment stand_by_end = Moment::max();
    for (auto row = next_waiter(0); row; row = next_waiter(row->fixed.ticket + 1)) {
        const Record& record = row->fixed;
        if (record.ticket == ticket) {
            if (!has_room(record.weight)) stand_by_end = Moment::max();
            break;
        }
        if (record.phase != Phase::waiting) continue;
        if (++ahead == lookers) return std::nullopt;
        if (ahead == 1) stand_by_end = record.lease_end;
    }
    std::chrono::nanoseconds wait = claim_time;
    if (head_.earliest_end != Moment::max()) {
        wait = std::max<std::chrono::nanoseconds>(head_.earliest_end - scene_.now, at_least);
    }
    wait += ahead * std::chrono::nanoseconds(claim_time);
    if (stand_by_end == Moment::max()) return wait;
    return std::max(std::min<std::chrono::nanoseconds>(wait, stand_by_end - scene_.now), at_least);
}

std::uint64_t LinePage::next_fence() {
    const std::uint64_t fence = std::max(scene_.last_fence + 1, scene_.wall_microseconds);
    if (fence >= fence_limit) {
        throw Error(errc::corrupt, "the last fence is " + std::to_string(scene_.last_fence) +
                                       ", which only a planted value can be; remove the store's "
                                       "files while nobody uses them");
    }
    return scene_.last_fence = fence;
}

void LinePage::put_record(const Key& key, const Record& record, std::string_view text) {
    scratch_.assign(reinterpret_cast<const char*>(&record), sizeof record);
    scratch_.append(text);
    scene_.table.put(key, scratch_);
}

}  // namespace holdfast::inline v0::ledger
