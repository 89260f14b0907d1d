#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iostream>
#include <random>
#include <stdexcept>

#include "chaos/chaos.hpp"
#include "chaos/worker.hpp"

/// `chaos [SITE...] [--seconds N] [--seed S]`: all sites unless some are named.
namespace holdfast::chaos {
namespace {

constexpr const char* usage =
    "chaos [SITE...] [--seconds N] [--seed S]: servers fail while clients contend for locks on "
    "them.\nThe sites:";

struct Line {
    std::vector<SiteEntry> sites;
    Plan plan;
};

/// The one of this name, or all whose names begin so: `redis_sentinel_` is all of its settings.
void choose(const std::string& name, std::vector<SiteEntry>& chosen) {
    const auto before = chosen.size();
    for (SiteEntry& one : all_sites()) {
        if (one.name == name || (name.ends_with('_') && one.name.starts_with(name))) {
            chosen.push_back(std::move(one));
        }
    }
    if (chosen.size() == before) throw std::invalid_argument("there is no site " + name);
}

Line line_of(const std::vector<std::string>& words) {
    Line line{.sites = {}, .plan = {.seed = std::random_device{}()}};
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--seconds") {
            line.plan.time = std::chrono::seconds{std::stoi(words.at(++i))};
        } else if (words[i] == "--seed") {
            line.plan.seed = std::stoull(words.at(++i));
        } else {
            choose(words[i], line.sites);
        }
    }
    if (line.sites.empty()) {
        line.sites = all_sites();
        std::erase_if(line.sites, [](const SiteEntry& site) { return site.known_bad; });
    }
    return line;
}

int contend(const std::vector<std::string>& words) {
    // Nobody outlives a chaos that crashed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string& can = words.at(4);
    const auto is_in = [&](char one) { return can.find(one) != std::string::npos; };
    return work(
        {words.at(0),
         words.at(1),
         words.at(2),
         std::stoull(words.at(3)),
         {.shares = is_in('s'), .permits = is_in('p'), .several = is_in('m'), .fences = is_in('f')},
         std::chrono::milliseconds{std::stoll(words.at(5))},
         words.at(6)});
}

int let_loose(const std::vector<std::string>& words) {
    const Line line = line_of(words);
    const auto went_wrong = std::ranges::count_if(
        line.sites, [&](const SiteEntry& site) { return !run(site, line.plan, std::cout); });
    std::cout << line.sites.size() - static_cast<std::size_t>(went_wrong) << " passed, "
              << went_wrong << " failed" << std::endl;
    return went_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::chaos

int main(int count, char** arguments) {
    using namespace holdfast::chaos;
    std::vector<std::string> words(arguments + 1, arguments + count);
    try {
        if (!words.empty() && words.front() == worker_flag) {
            return contend({words.begin() + 1, words.end()});
        }
        return let_loose(words);
    } catch (const std::logic_error& error) {
        std::cerr << "chaos: " << error.what() << "\n" << usage;
        for (const SiteEntry& one : all_sites()) std::cerr << " " << one.name;
        std::cerr << std::endl;
        return 64;
    }
}
