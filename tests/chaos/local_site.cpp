#include "chaos/fault_table.hpp"
#include "support/temporary_folder.hpp"

/// The embedded store: there is nothing that can fail but its users.
namespace holdfast::chaos {

namespace {

class Local final : public Site {
public:
    std::string url() const override { return "local://" + (folder_.path() / "store").string(); }
    std::vector<Fault> faults() override { return {}; }
    void settle() override {}
    Excused excuse_of_hands() const override { return FaultTable("local").excused(ended_by_hand); }

private:
    test::TemporaryFolder folder_;
};

}  // namespace

std::vector<SiteEntry> local_sites() {
    return {{"local", [] { return std::make_unique<Local>(); }}};
}

}  // namespace holdfast::chaos
