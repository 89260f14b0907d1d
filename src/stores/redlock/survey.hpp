#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "port/pending.hpp"
#include "stores/redlock/desk.hpp"

namespace holdfast::inline v0::redlock {

/// Asks all nodes who is in, and puts together what a majority of them says. What only a minority
/// says is told too, and that it is so.
/// Callbacks of several turns may run at the same time.
class Survey : public std::enable_shared_from_this<Survey> {
public:
    explicit Survey(Desk desk)
        : desk_(std::move(desk)), flight_(desk_.wire), progress_(desk_.terms().nodes) {}

    /// Of all resources that start like that.
    Pending<std::vector<Line>> of_all(std::string prefix);
    Pending<std::vector<Line>> of_one(const std::string& resource);

private:
    using Lock = std::unique_lock<std::mutex>;
    struct Progress {
        std::size_t due = 1;  ///< answers; there is always a first question
        bool failed = false;
    };
    /// What is said of one contender, and by which nodes.
    using Sightings = std::map<std::size_t, Place>;

    void scan(std::size_t node, const std::string& cursor);
    void scanned(std::size_t node, const redis::Answer& answer);
    void look(std::size_t node, const std::string& resource);
    void looked(std::size_t node, const std::string& resource, const redis::Answer& answer);
    void ask(std::size_t node, redis::Command command, Callback<void(const redis::Answer&)> take);
    void go_on(Lock lock);
    void give_up();
    Result<std::vector<Line>> outcome() const;
    Line line_of(const std::string& resource, const std::map<Nonce, Sightings>& seen) const;
    Place together(const Sightings& sightings) const;
    std::size_t complete() const;

    const Desk desk_;
    Flight<std::vector<Line>> flight_;
    const Moment began_ = BootClock::now();
    std::string prefix_;

    std::mutex mutex_;
    std::vector<Progress> progress_;  ///< of each node
    std::map<std::string, std::map<Nonce, Sightings>> seen_;
    std::optional<Failure> failure_;
    bool is_waited_for_ = false;
    bool is_over_ = false;
};

}  // namespace holdfast::inline v0::redlock
