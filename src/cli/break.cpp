#include "cli/break.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "cli/contenders.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/name.hpp"
#include "cli/output.hpp"
#include "cli/say.hpp"
#include "cli/store.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* examples = R"(Examples:
  holdfast show deploy                              first see who holds it, and with which fence
  holdfast break deploy --fence 1790000000000000    end that hold, and no later one

The next in line gets its turn at once. The holder is not asked: it learns of it with its next
renewal, within a third of its lease, and may work on until then beside the next one. What it
guards should refuse its fence.

Exit code: 0 the hold was ended, 1 there is no such hold, 69 the store cannot be reached, 64 usage,
78 bad configuration.)";

std::uint64_t fence_or_refuse(const std::string& text) {
    std::uint64_t fence = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, fence);
    if (error == std::errc{} && stopped == end && fence != 0) return fence;
    throw CLI::ValidationError("--fence",
                               "'" + text + "' is no fence; holdfast show NAME tells it");
}

std::vector<std::uint64_t> fences_of(const ResourceInfo& resource) {
    std::vector<std::uint64_t> fences;
    for (const ContenderInfo& holder : resource.holders) {
        if (holder.fence != 0) fences.push_back(holder.fence);
    }
    std::ranges::sort(fences);
    const auto last = std::unique(fences.begin(), fences.end());
    fences.erase(last, fences.end());
    return fences;
}

std::string what_is_there(const ResourceInfo& resource) {
    const auto fences = fences_of(resource);
    if (fences.empty()) return resource.waiters.empty() ? "it is free" : "it is being passed on";
    return fmt::format("it is held with fence {}", fmt::join(fences, ", "));
}

/// Empty when it is not among them: it joined, or was admitted, only just now.
std::string owner_of(const ResourceInfo& resource, std::uint64_t fence) {
    const auto holder = std::ranges::find(resource.holders, fence, &ContenderInfo::fence);
    return holder == resource.holders.end() ? "" : " of " + holder->owner;
}

}  // namespace

CLI::App* add_break(CLI::App& program, BreakOptions& options) {
    CLI::App* const command = program.add_subcommand("break", "End somebody's hold");
    command->formatter(
        std::make_shared<HelpWithUsage>("holdfast break [OPTION...] NAME --fence N"));
    add_name(*command, options.name);
    command
        ->add_option_function<std::string>(
            "--fence", [&](const std::string& text) { options.fence = fence_or_refuse(text); },
            "The fence of the hold to be ended")
        ->option_text("N")
        ->required();
    add_store(*command, options.store);
    command->footer(examples);
    return command;
}

int break_hold(const BreakOptions& options) {
    const Client client = connect_to(options.store);
    const ResourceInfo before = find(client, options.name);
    if (!client.break_hold(options.name, options.fence)) {
        say(fmt::format("{}: no hold has fence {}; {}", options.name, options.fence,
                        what_is_there(find(client, options.name))));
        return no_such_hold;
    }
    print(visible(fmt::format("{}: ended the hold{} with fence {}; its holder learns of it within "
                              "a third of its lease",
                              options.name, owner_of(before, options.fence), options.fence)) +
          "\n");
    return success;
}

}  // namespace holdfast::cli
