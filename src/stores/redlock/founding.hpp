#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "port/pending.hpp"
#include "stores/redlock/desk.hpp"

namespace holdfast::inline v0::redlock {

/// Marks nodes that were never used, so that they count at once: all of them, and only when none
/// has anything of ours, for a set that is in use may have holders whom a node has forgotten.
/// Callbacks of several turns may run at the same time.
class Founding : public std::enable_shared_from_this<Founding> {
public:
    explicit Founding(Desk desk)
        : desk_(std::move(desk)), flight_(desk_.wire), due_(desk_.terms().nodes) {}

    /// How many nodes were marked.
    Pending<std::size_t> begin();

private:
    void look(std::size_t node, const std::string& cursor);
    void looked(std::size_t node, const redis::Answer& answer);
    void mark_all();
    void done(std::optional<Failure> failure, void (Founding::*then)());
    void finish();
    Failure refusal(std::size_t node, const std::string& key) const;

    const Desk desk_;
    Flight<std::size_t> flight_;
    std::mutex mutex_;
    std::size_t due_;
    std::optional<Failure> failure_;
};

}  // namespace holdfast::inline v0::redlock
