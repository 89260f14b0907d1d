#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/export.hpp>
#include <holdfast/hold.hpp>
#include <holdfast/observer.hpp>

namespace holdfast::inline v0 {

/// Counts what an Observer hears, and writes it as Prometheus reads it. Not in holdfast.hpp.
///     auto metrics = std::make_shared<holdfast::Metrics>();
///     auto client = holdfast::connect(url, {.observer = metrics});
///     ...
///     respond("text/plain; version=0.0.4", metrics->text());
///
///     holdfast_waiting                        gauge      contenders in line now
///     holdfast_holds                          gauge      holds not given back yet, lost ones too
///     holdfast_waits_total{end=...}           counter    waits in line, by how they ended
///     holdfast_acquire_seconds                histogram  what acquisitions took
///     holdfast_renewals_total                 counter    renewals of holds that were confirmed
///     holdfast_releases_total{how=...}        counter    holds given back, by how that went
///     holdfast_lost_total{why=...}            counter    holds that were lost
///     holdfast_store_failures_total           counter    renewals, clean-ups that failed
///     holdfast_store_recoveries_total         counter    times that the store answered again
///
/// Names of resources are no labels: there may be any number of them.
/// Threads: all members may be called from any thread; they take no lock.
class HOLDFAST_EXPORT Metrics final : public Observer {
public:
    /// The labels stand on each line, so that several clients can be told apart. Throws Error with
    /// errc::invalid_argument for a name that Prometheus would not read.
    explicit Metrics(const std::map<std::string, std::string>& labels = {});
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;
    ~Metrics() override;

    std::string text() const;

    void waiting(std::string_view resource) override;
    void wait_ended(std::string_view resource, WaitEnd how,
                    std::chrono::nanoseconds waited) override;
    void acquired(std::string_view resource, std::uint64_t fence,
                  std::chrono::nanoseconds waited) override;
    void renewed(std::string_view resource, std::uint64_t fence) override;
    void released(std::string_view resource, std::uint64_t fence, Released how) override;
    void lost(std::string_view resource, std::uint64_t fence, Loss why) override;
    void store_failed(std::string_view sentence) override;
    void store_answers() override;

private:
    struct Counts;
    std::unique_ptr<Counts> counts_;
};

}  // namespace holdfast::inline v0
