#include "verify/picture.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "verify/page.hpp"

namespace holdfast::verify {

namespace {

using Json = nlohmann::ordered_json;

/// Each once, in the order in which they came, and its number.
class Numbered {
public:
    std::size_t of(const std::string& name) {
        const auto [at, is_new] = numbers_.emplace(name, numbers_.size());
        if (is_new) names_.push_back(name);
        return at->second;
    }
    const std::vector<std::string>& names() const { return names_; }

private:
    std::map<std::string, std::size_t> numbers_;
    std::vector<std::string> names_;
};

/// Its parts are CLIENT/THREAD and the number of the visit.
std::pair<std::string, std::uint64_t> parts_of(const std::string& who) {
    const auto end = who.rfind('/');
    return {who.substr(0, end), std::stoull(who.substr(end + 1))};
}

/// By client, and then by thread, as numbers and not as words.
bool comes_before(const std::string& one, const std::string& other) {
    return std::pair(one.size(), one) < std::pair(other.size(), other);
}

std::set<std::string> named_in(const std::vector<Broken>& broken) {
    std::set<std::string> names;
    for (const Broken& one : broken) {
        names.insert(one.violation.who.begin(), one.violation.who.end());
    }
    return names;
}

std::vector<const Visit*> shown_of(const Report& report) {
    const auto& visits = report.trial.history.visits;
    const std::set<std::string> named = named_in(report.broken);
    const std::size_t last = visits.size() - std::min(visits.size(), most_shown);
    std::vector<const Visit*> shown;
    for (std::size_t i = 0; i < visits.size(); ++i) {
        const Visit& visit = visits[i];
        const bool is_of_interest =
            visit.was_lost() || visit.ended == 0 || named.contains(visit.who);
        if (i >= last || is_of_interest) shown.push_back(&visit);
    }
    return shown;
}

/// What the page draws: times are microseconds since the beginning.
class Drawing {
public:
    explicit Drawing(const Report& report) : report_(report), trial_(report.trial) {}

    Json all() {
        const auto shown = shown_of(report_);
        number(shown);
        Json visits = Json::array();
        for (const Visit* visit : shown) visits.push_back(drawn(*visit));
        return {{"store", trial_.store},
                {"seed", std::to_string(trial_.seed)},
                {"length", length()},
                {"lease_ms", trial_.manner.longest_lease.count()},
                {"fences", trial_.manner.abilities.fences},
                {"left_out", trial_.history.visits.size() - shown.size()},
                {"figures", figures()},
                {"broken", broken()},
                {"exempt", exempt()},
                {"resources", short_names()},
                {"threads", threads_.names()},
                {"interferences", interferences()},
                {"visits", std::move(visits)}};
    }

private:
    Json at(Instant instant) const {
        if (instant == 0) return {};
        return std::max<Instant>(instant - trial_.begin, 0) / 1000;
    }
    /// Until the last that anybody wrote down.
    Instant length() const {
        Instant end = trial_.end;
        for (const Visit& visit : trial_.history.visits) {
            end = std::max({end, visit.asked, visit.trusted, visit.ended});
        }
        return std::max<Instant>((end - trial_.begin) / 1000, 1);
    }
    void number(const std::vector<const Visit*>& visits) {
        for (const std::string& name : resources(trial_.manner)) resources_.of(name);
        std::set<std::string, decltype(&comes_before)> threads(comes_before);
        for (const Visit* visit : visits) {
            threads.insert(parts_of(visit->who).first);
            resources_.of(visit->resource);
        }
        for (const std::string& thread : threads) threads_.of(thread);
    }
    Json drawn(const Visit& visit) {
        const auto [thread, count] = parts_of(visit.who);
        return Json::array({threads_.of(thread), count, resources_.of(visit.resource),
                            at(visit.asked), at(visit.admitted), at(visit.trusted), at(visit.ended),
                            visit.fence, static_cast<int>(visit.ending), visit.weight,
                            visit.capacity});
    }
    Json figures() const {
        const Figures& figures = report_.figures;
        const auto times = [](const Times& of) {
            return Json{{"count", of.count}, {"p50", of.p50 / 1000}, {"p99", of.p99 / 1000}};
        };
        return {{"asked", figures.asked},
                {"holds", figures.holds},
                {"errors", figures.errors},
                {"lost", figures.lost},
                {"lost_standing_still", figures.lost_standing_still},
                {"wait", times(figures.wait)},
                {"hand_off", times(figures.hand_off)}};
    }
    Json broken() const {
        Json result = Json::array();
        for (const auto& [promise, violation] : report_.broken) {
            result.push_back({{"promise", name_of(promise)},
                              {"at", at(violation.at)},
                              {"what", violation.what},
                              {"who", violation.who}});
        }
        return result;
    }
    Json exempt() const {
        Json result = Json::array();
        for (const Exemption& one : report_.exempt) {
            result.push_back({{"what", one.what}, {"why", one.why}});
        }
        return result;
    }
    Json interferences() const {
        Json result = Json::array();
        for (const Interference& one : trial_.interferences) {
            result.push_back({{"client", one.client},
                              {"begin", at(one.begin)},
                              {"end", at(one.end)},
                              {"killed", one.killed}});
        }
        return result;
    }
    /// Without what all of them begin with.
    Json short_names() const {
        Json result = Json::array();
        const std::string& prefix = trial_.manner.prefix;
        for (const std::string& name : resources_.names()) {
            result.push_back(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
        }
        return result;
    }

    const Report& report_;
    const Trial& trial_;
    Numbered resources_;
    Numbered threads_;
};

/// So that nothing in it ends the script that it stands in.
std::string in_a_script(std::string_view json) {
    std::string text;
    for (const char one : json) {
        if (one == '<') {
            text += "\\u003c";
        } else {
            text += one;
        }
    }
    return text;
}

}  // namespace

std::string picture_of(const Report& report) {
    constexpr std::string_view mark = "/* data */";
    const auto where = page.find(mark);
    std::string text(page.substr(0, where));
    text += in_a_script(Drawing(report).all().dump(-1, ' ', true, Json::error_handler_t::replace));
    text += page.substr(where + mark.size());
    return text;
}

}  // namespace holdfast::verify
