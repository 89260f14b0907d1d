#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "port/contender.hpp"
#include "port/failure.hpp"
#include "port/store.hpp"
#include "stores/scripted/news.hpp"
#include "stores/sql/calls.hpp"
#include "stores/sql/session.hpp"

namespace holdfast::inline v0::sql {

/// Reads what our procedures answer: see enter.sql.
class Answers {
public:
    /// `shown`: the server, for sentences.
    Answers(std::string shown, const Calls& calls) : shown_(std::move(shown)), calls_(calls) {}

    Result<std::vector<Entry>> entries(const Reply& reply,
                                       std::span<const Contender> contenders) const;
    /// As many as were asked for.
    Result<std::vector<Standing>> standings(const Reply& reply, std::size_t count) const;
    Result<Standing> left(const Reply& reply) const;
    /// Of all pages together. Sorted by resource.
    Result<std::vector<Line>> lines(const Reply& reply) const;
    Result<SweepStep> swept(const Reply& reply) const;
    static scripted::News news(const std::string& message);

private:
    Failure refused(const std::vector<std::string>& row, const Contender& asked) const;
    Failure not_ours() const;

    const std::string shown_;
    const Calls calls_;
};

/// Takes the row off that says where the next page of inspect starts; nothing when this is the
/// last.
std::optional<std::string> take_next_page(Reply& page);

}  // namespace holdfast::inline v0::sql
