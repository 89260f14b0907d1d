#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "port/contender.hpp"
#include "port/failure.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

/// Reads what the scripts answer: flat lists of numbers, or a word and what belongs to it when the
/// request is refused; of one that is admitted at once, or leaves as it should, its fence alone.
class Answers {
public:
    /// `store`: as sentences name it. Both must outlive it.
    Answers(const std::string& store, const Layout& layout) : store_(store), layout_(layout) {}

    Result<std::vector<Entry>> entries(const Reply& reply,
                                       std::span<const Contender> contenders) const;
    /// As many as were asked for.
    Result<std::vector<Standing>> standings(const Reply& reply, std::size_t count) const;
    Result<Standing> left(const Reply& reply) const;
    scripted::News news(const Reply& message) const { return layout_.news(message); }

private:
    Standing standing_from(std::int64_t state, std::int64_t fence, std::int64_t look) const;
    Entry first_of_its_line(const Contender& one, std::int64_t fence) const;
    Failure refused(const Reply& reply, std::span<const Contender> contenders) const;
    Failure not_ours() const;

    const std::string& store_;
    const Layout& layout_;
};

}  // namespace holdfast::inline v0::redis
