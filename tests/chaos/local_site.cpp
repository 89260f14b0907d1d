#include "chaos/broken_stores.hpp"
#include "chaos/fault_table.hpp"
#include "support/temporary_folder.hpp"

/// The embedded store: there is nothing that can fail but its users. And, broken in each way that
/// is known, to be found out.
namespace holdfast::chaos {

namespace {

class Local final : public Site {
public:
    explicit Local(std::string broken = {}) : broken_(std::move(broken)) {}

    std::string url() const override { return "local://" + (folder_.path() / "store").string(); }
    std::vector<Fault> faults() override { return {}; }
    void settle() override {}
    std::chrono::milliseconds shortest_lease() const override {
        return std::chrono::milliseconds{broken_.empty() ? 1500 : 400};
    }
    std::string broken() const override { return broken_; }
    Excused excuse_of_hands() const override { return FaultTable("local").excused(ended_by_hand); }

private:
    const std::string broken_;
    test::TemporaryFolder folder_;
};

}  // namespace

std::vector<SiteEntry> local_sites() {
    std::vector<SiteEntry> sites{{"local", [] { return std::make_unique<Local>(); }}};
    for (const std::string& way : ways_to_break_a_store()) {
        sites.push_back({.name = "broken_" + way,
                         .make = [way] { return std::make_unique<Local>(way); },
                         .known_bad = true});
    }
    return sites;
}

}  // namespace holdfast::chaos
