#include <holdfast/metrics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <numeric>

#include <holdfast/error.hpp>

namespace holdfast::inline v0 {

namespace core {

using Counter = std::atomic<std::uint64_t>;

/// From a lock that is free in this process to one that is waited for with patience.
inline constexpr std::array bounds{0.00001, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                   0.025,   0.05,   0.1,    0.25,  0.5,    1.0,   2.5,
                                   5.0,     10.0,   30.0,   60.0,  300.0};

class Histogram {
public:
    void add(std::chrono::nanoseconds time) {
        const double seconds = std::chrono::duration<double>(time).count();
        const auto bucket = std::ranges::lower_bound(bounds, seconds) - bounds.begin();
        counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(static_cast<std::uint64_t>(time.count()), std::memory_order_relaxed);
    }

    /// How many there were up to each bound, and in all.
    std::array<std::uint64_t, bounds.size() + 1> up_to() const {
        std::array<std::uint64_t, bounds.size() + 1> sums{};
        std::ranges::transform(counts_, sums.begin(), [](const Counter& one) {
            return one.load(std::memory_order_relaxed);
        });
        std::partial_sum(sums.begin(), sums.end(), sums.begin());
        return sums;
    }
    double seconds() const {
        return static_cast<double>(sum_.load(std::memory_order_relaxed)) / 1e9;
    }

private:
    std::array<Counter, bounds.size() + 1> counts_{};
    Counter sum_{0};
};

}  // namespace core

namespace {

using core::bounds;
using core::Counter;
using core::Histogram;

std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.9g", value);
    return text.data();
}

bool is_label_name(std::string_view name) {
    const auto may_begin = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const auto may_follow = [&](char c) { return may_begin(c) || (c >= '0' && c <= '9'); };
    return !name.empty() && may_begin(name.front()) && std::ranges::all_of(name, may_follow);
}

std::string quoted(std::string_view value) {
    std::string text = "\"";
    for (const char c : value) {
        if (c == '\\' || c == '"') text += '\\';
        text += c == '\n' ? "\\n" : std::string(1, c);
    }
    return text += '"';
}

std::string joined(const std::map<std::string, std::string>& labels) {
    std::string text;
    for (const auto& [name, value] : labels) {
        if (!is_label_name(name)) {
            throw Error(errc::invalid_argument,
                        "'" + name + "' is no name of a label; use letters, digits and _");
        }
        if (!text.empty()) text += ',';
        text += name + '=' + quoted(value);
    }
    return text;
}

/// Lines as Prometheus reads them.
class Page {
public:
    explicit Page(const std::string& labels) : labels_(labels) {}

    void begin(std::string_view name, std::string_view kind, std::string_view help) {
        name_ = name;
        text_.append("# HELP ").append(name).append(" ").append(help);
        text_.append("\n# TYPE ").append(name).append(" ").append(kind).append("\n");
    }
    void line(const std::string& value, std::string_view label = {}, std::string_view behind = {}) {
        text_.append(name_).append(behind);
        const bool both = !labels_.empty() && !label.empty();
        if (!labels_.empty() || !label.empty()) {
            text_.append("{").append(labels_).append(both ? "," : "").append(label).append("}");
        }
        text_.append(" ").append(value).append("\n");
    }
    void line(std::uint64_t value, std::string_view label = {}, std::string_view behind = {}) {
        line(std::to_string(value), label, behind);
    }

    std::string take() { return std::move(text_); }

private:
    const std::string& labels_;
    std::string_view name_;
    std::string text_;
};

void write(Page& page, const Histogram& histogram) {
    const auto sums = histogram.up_to();
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        page.line(sums[i], "le=\"" + number(bounds[i]) + "\"", "_bucket");
    }
    page.line(sums.back(), "le=\"+Inf\"", "_bucket");
    page.line(number(histogram.seconds()), {}, "_sum");
    page.line(sums.back(), {}, "_count");
}

template <std::size_t count>
void write(Page& page, const std::array<Counter, count>& counters,
           const std::array<std::string_view, count>& labels) {
    for (std::size_t i = 0; i < count; ++i) {
        page.line(counters[i].load(std::memory_order_relaxed), labels[i]);
    }
}

template <class Enumerator, std::size_t count>
void count_one(std::array<Counter, count>& counters, Enumerator which) {
    counters[static_cast<std::size_t>(which)].fetch_add(1, std::memory_order_relaxed);
}

void count_one(Counter& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
}

/// The one before the other is read first, so that a gauge is never less than nothing.
std::uint64_t left(std::uint64_t ended, const Counter& begun) {
    return std::max(begun.load(std::memory_order_acquire), ended) - ended;
}

template <std::size_t count>
std::uint64_t sum(const std::array<Counter, count>& counters) {
    std::uint64_t all_of_them = 0;
    for (const Counter& one : counters) all_of_them += one.load(std::memory_order_acquire);
    return all_of_them;
}

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> wait_ends{"end=\"admitted\"", "end=\"given_up\"",
                                                    "end=\"put_out\"", "end=\"failed\""};
constexpr std::array<std::string_view, 3> releases{"how=\"in_time\"", "how=\"too_late\"",
                                                   "how=\"unknown\""};
constexpr std::array<std::string_view, 2> losses{"why=\"overdue\"", "why=\"ended\""};

}  // namespace

struct Metrics::Counts {
    using Counter = core::Counter;
    using Histogram = core::Histogram;

    std::string labels;
    Counter waits{0};
    std::array<Counter, wait_ends.size()> waits_ended{};
    Counter acquired{0};
    Histogram acquire_seconds{};
    Counter renewed{0};
    std::array<Counter, releases.size()> released{};
    std::array<Counter, losses.size()> lost{};
    Counter store_failures{0};
    Counter store_recoveries{0};
};

Metrics::Metrics(const std::map<std::string, std::string>& labels)
    : counts_(new Counts{.labels = joined(labels)}) {}

Metrics::~Metrics() = default;

void Metrics::waiting(std::string_view) {
    count_one(counts_->waits);
}
void Metrics::wait_ended(std::string_view, WaitEnd how, std::chrono::nanoseconds) {
    count_one(counts_->waits_ended, how);
}
void Metrics::acquired(std::string_view, std::uint64_t, std::chrono::nanoseconds waited) {
    count_one(counts_->acquired);
    counts_->acquire_seconds.add(waited);
}
void Metrics::renewed(std::string_view, std::uint64_t) {
    count_one(counts_->renewed);
}
void Metrics::released(std::string_view, std::uint64_t, Released how) {
    count_one(counts_->released, how);
}
void Metrics::lost(std::string_view, std::uint64_t, Loss why) {
    count_one(counts_->lost[why == Loss::ended ? 1 : 0]);
}
void Metrics::store_failed(std::string_view) {
    count_one(counts_->store_failures);
}
void Metrics::store_answers() {
    count_one(counts_->store_recoveries);
}

std::string Metrics::text() const {
    const Counts& counts = *counts_;
    Page page(counts.labels);
    page.begin("holdfast_waiting", "gauge", "Contenders that stand in line now.");
    page.line(left(sum(counts.waits_ended), counts.waits));
    page.begin("holdfast_holds", "gauge", "Holds that were not given back yet, lost ones too.");
    page.line(left(sum(counts.released), counts.acquired));
    page.begin("holdfast_waits_total", "counter", "Waits in line, by how they ended.");
    write(page, counts.waits_ended, wait_ends);
    page.begin("holdfast_acquire_seconds", "histogram", "What acquisitions took.");
    write(page, counts.acquire_seconds);
    page.begin("holdfast_renewals_total", "counter", "Renewals of holds that were confirmed.");
    page.line(counts.renewed.load(std::memory_order_relaxed));
    page.begin("holdfast_releases_total", "counter", "Holds given back, by how that went.");
    write(page, counts.released, releases);
    page.begin("holdfast_lost_total", "counter", "Holds that were lost, by why.");
    write(page, counts.lost, losses);
    page.begin("holdfast_store_failures_total", "counter",
               "Renewals and clean-ups that failed, and jumps of the server's clock.");
    page.line(counts.store_failures.load(std::memory_order_relaxed));
    page.begin("holdfast_store_recoveries_total", "counter",
               "Times that the store answered again after a renewal that failed.");
    page.line(counts.store_recoveries.load(std::memory_order_relaxed));
    return page.take();
}

}  // namespace holdfast::inline v0
