#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "chaos/one_server.hpp"
#include "servers/postgres_server.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::chaos {

/// The clock of a server, as a file says it that the server looks at. Made before the server.
class SetClock {
protected:
    /// A server may run as somebody else.
    SetClock() { test::give_to_unprivileged(folder_.path()); }

    template <class Options>
    Options heeded_by(Options options) const {
        options.under = {"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK,
                         "HOLDFAST_TEST_CLOCK=" + file_.string()};
        return options;
    }
    void add_those_of_the_clock(std::vector<Fault>& all, const Excused& excuse_of_a_jump) const {
        all.push_back({"its clock is set forward",
                       [this](Random& random) {
                           set_ahead(random() % 10);
                           return nothing;
                       },
                       excuse_of_a_jump});
        all.push_back({"its clock is set right", [this](Random&) {
                           set_ahead(0);
                           return nothing;
                       }});
    }

private:
    void set_ahead(std::uint64_t seconds) const {
        std::ofstream(folder_.path() / "new") << seconds;
        std::filesystem::rename(folder_.path() / "new", file_);
    }

    test::TemporaryFolder folder_;
    const std::filesystem::path file_ = folder_.path() / "ahead";
};

}  // namespace holdfast::chaos
