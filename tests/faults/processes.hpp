#pragma once

#include <holdfast/holdfast.hpp>

#include "support/arena.hpp"
#include "support/contender.hpp"
#include "support/sanitized.hpp"
#include "support/suite.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {

using Clock = std::chrono::steady_clock;

/// A local store in a folder of its own, contended for by real processes. What holds for every
/// store is in tests/contract; here is what only the embedded one can get wrong.
class LocalProcesses : public testing::Test {
protected:
    /// A process that does what it is told.
    Child talker(std::vector<std::string> around = {}) const {
        Child child = starting(std::move(around));
        EXPECT_EQ(child.hear(), "ready");
        return child;
    }
    /// The same before it has opened the store.
    Child starting(std::vector<std::string> around = {}) const {
        return contenders_.talker(std::move(around));
    }
    Child busy(const std::string& how, std::size_t corner,
               const std::string& parameters = "") const {
        return contenders_.busy(how, arena_file(), static_cast<int>(corner), parameters);
    }
    std::string arena_file() const { return folder_.path() / "arena"; }

    [[nodiscard]] bool await_waiters(const std::string& name, std::size_t count) const {
        return await([&] { return waiters_of(client_, name) == count; });
    }

private:
    std::string url() const { return "local://" + (folder_.path() / "store").string(); }

    TemporaryFolder folder_;
    Contenders contenders_{url()};

protected:
    Client client_ = connect(url());
};

}  // namespace holdfast::test
