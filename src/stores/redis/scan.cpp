#include "stores/redis/scan.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace holdfast::inline v0::redis {

namespace {

constexpr std::string_view at_its_end = "0";
constexpr char behind_host = '/';

std::string text_of(const Host& host) {
    return host.name + ":" + std::to_string(*host.port) + behind_host;
}

}  // namespace

bool is_scan(const Command& command) {
    const auto words = command.words();
    return words.size() > 1 && words[0] == "SCAN";
}

ScanPart part_of_scan(const Command& command, std::vector<Host> masters) {
    const auto words = command.words();
    const std::size_t behind = words[1].rfind(behind_host) + 1;
    std::ranges::sort(masters, {}, text_of);
    const auto here = std::ranges::lower_bound(masters, words[1].substr(0, behind), {}, text_of);
    const auto master = here == masters.end() ? std::prev(masters.end()) : here;
    const bool goes_on = behind > 0 && text_of(*master) == words[1].substr(0, behind);
    ScanPart part{.command = {words[0], goes_on ? words[1].substr(behind) : at_its_end},
                  .host = *master,
                  .here = text_of(*master)};
    for (std::size_t i = 2; i < words.size(); ++i) part.command << words[i];
    const auto next = std::next(master);
    part.next = next == masters.end() ? at_its_end : text_of(*next) + std::string(at_its_end);
    return part;
}

void complete(const ScanPart& part, Reply& reply) {
    if (reply.elements.empty()) return;
    std::string& cursor = reply.elements[0].text;
    cursor = cursor == at_its_end ? part.next : part.here + cursor;
}

}  // namespace holdfast::inline v0::redis
