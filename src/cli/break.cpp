#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/connecting.hpp"
#include "cli/contenders.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

/// What `holdfast break` was asked for.
struct BreakOptions {
    std::string name;
    std::uint64_t fence = 0;
    std::string store;
};

constexpr const char* break_examples = R"(Examples:
  holdfast show deploy                              first see who holds it, and with which fence
  holdfast break deploy --fence 1790000000000000    end that hold, and no later one
  holdfast break deploy --fence 0                   end those that hold it without a fence: by
                                                    another library than holdfast
                                                    (-S ...?layout=...), or on memcached

The next in line gets its turn at once. The holder is not asked: it learns of it with its next
renewal, within a third of its lease, and may work on until then beside the next one. What it
guards should refuse its fence.

Exit code: 0 the hold was ended, 1 there is no such hold, 69 the store cannot be reached, 64 usage,
78 bad configuration.)";

std::vector<std::uint64_t> fences_of(const ResourceInfo& resource) {
    std::vector<std::uint64_t> fences;
    for (const ContenderInfo& holder : resource.holders) {
        if (is_held(holder)) fences.push_back(holder.fence);
    }
    std::ranges::sort(fences);
    const auto last = std::unique(fences.begin(), fences.end());
    fences.erase(last, fences.end());
    return fences;
}

std::string what_is_there(const ResourceInfo& resource) {
    const auto fences = fences_of(resource);
    if (fences.empty()) return resource.waiters.empty() ? "it is free" : "it is being passed on";
    if (fences == std::vector<std::uint64_t>{0}) {
        const bool foreign = resource.holders.front().foreign;
        return formatted("it is held{}, without a fence (--fence 0 ends that)",
                         foreign ? " by another library" : "");
    }
    return formatted("it is held with fence {}", joined(fences, ", "));
}

/// Null when it is not among them: it joined, or was admitted, only just now.
const ContenderInfo* holder_of(const ResourceInfo& resource, std::uint64_t fence) {
    const auto holder = std::ranges::find(resource.holders, fence, &ContenderInfo::fence);
    return holder == resource.holders.end() ? nullptr : &*holder;
}

std::string what_was_ended(const ResourceInfo& before, std::uint64_t fence) {
    const ContenderInfo* const holder = holder_of(before, fence);
    if (fence == 0 && (holder == nullptr || holder->foreign)) {
        return "ended what another library held; it may not learn of it";
    }
    return formatted("ended the hold{}{}; its holder learns of it within a third of its lease",
                     holder == nullptr ? "" : " of " + holder->owner,
                     fence == 0 ? "" : formatted(" with fence {}", fence));
}

/// What to tell people who gave a fence that nobody has.
std::string what_is_missing(std::uint64_t fence) {
    if (fence == 0) return "nobody holds it without a fence, as by another library";
    return formatted("no hold has fence {}", fence);
}

int break_hold(const BreakOptions& options) {
    const Client client = connect_to(options.store);
    const ResourceInfo before = find(client, options.name);
    if (!client.break_hold(options.name, options.fence)) {
        say(formatted("{}: {}; {}", options.name, what_is_missing(options.fence),
                      what_is_there(find(client, options.name))));
        return no_such_hold;
    }
    print(visible(options.name + ": " + what_was_ended(before, options.fence)) + "\n");
    return success;
}

}  // namespace

Subcommand add_break(CLI::App& program) {
    const auto options = std::make_shared<BreakOptions>();
    CLI::App& parser =
        add_subcommand(program, {.name = "break",
                                 .summary = "End somebody's hold",
                                 .usage = "holdfast break [OPTION...] NAME --fence N",
                                 .examples = break_examples});
    add_name(parser, options->name);
    add_fence(parser, options->fence);
    add_store(parser, options->store);
    return {&parser, options->store, [options] { return break_hold(*options); }};
}

}  // namespace holdfast::cli
