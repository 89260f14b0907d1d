#include "verify/history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

namespace holdfast::verify {

namespace {

/// Each by its number.
constexpr std::array<std::string_view, 6> words_for_endings{"unknown", "released", "busy",
                                                            "failed",  "overdue",  "ended"};

std::string word_for(Ending ending) {
    return std::string(words_for_endings.at(static_cast<std::size_t>(ending)));
}

Ending ending_of(std::string_view word) {
    const auto* const found = std::ranges::find(words_for_endings, word);
    if (found == words_for_endings.end()) return Ending::unknown;
    return static_cast<Ending>(found - words_for_endings.begin());
}

/// One journal, line by line.
class Reading {
public:
    explicit Reading(History& history) : history_(history) {}

    void line(const std::string& line) {
        std::istringstream words(line);
        std::string verb;
        Instant at = 0;
        words >> verb >> at;
        if (verb == "complaint") {
            history_.complaints.push_back({at, rest_of(words)});
        } else if (verb == "failed") {
            int code = 0;
            words >> code;
            history_.failures.push_back({at, code, rest_of(words)});
        } else {
            of_a_visit(verb, at, words);
        }
    }
    void finish() {
        for (const auto& [who, visit] : visits_) history_.visits.push_back(visit);
    }

private:
    static std::string rest_of(std::istringstream& words) {
        std::string rest;
        std::getline(words >> std::ws, rest);
        return rest;
    }
    void of_a_visit(const std::string& verb, Instant at, std::istringstream& words) {
        std::string who;
        words >> who;
        Visit& visit = visits_[who];
        if (verb == "asked") {
            visit.who = who;
            visit.asked = at;
            words >> visit.resource >> visit.weight >> visit.capacity >> visit.lease >>
                visit.patience;
        } else if (verb == "admitted") {
            visit.admitted = visit.trusted = at;
            words >> visit.fence >> visit.sent;
        } else if (verb == "trusted") {
            visit.trusted = at;
        } else if (verb == "ended") {
            std::string ending;
            words >> ending;
            visit.ended = at;
            visit.ending = ending_of(ending);
        }
    }

    History& history_;
    std::map<std::string, Visit> visits_;
};

void read_journal(const std::filesystem::path& file, History& history) {
    std::ifstream in(file);
    Reading reading(history);
    for (std::string line; std::getline(in, line);) {
        // The last one of a process that was killed while it wrote.
        if (!in.eof()) reading.line(line);
    }
    reading.finish();
}

std::string told(const char* verb, Instant at, const Visit& visit) {
    return std::string(verb) + " " + std::to_string(at) + " " + visit.who;
}

}  // namespace

std::string client_of(const Visit& visit) {
    return visit.who.substr(0, visit.who.find('/'));
}

Instant now() {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return Instant{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void History::append(History other) {
    std::ranges::move(other.visits, std::back_inserter(visits));
    std::ranges::move(other.complaints, std::back_inserter(complaints));
    std::ranges::move(other.failures, std::back_inserter(failures));
}

Journal::Journal(const std::filesystem::path& file)
    : file_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), file);
}

Journal::~Journal() {
    close(file_);
}

void Journal::asked(const Visit& visit) {
    write(told("asked", visit.asked, visit) + " " + visit.resource + " " +
          std::to_string(visit.weight) + " " + std::to_string(visit.capacity) + " " +
          std::to_string(visit.lease) + " " + std::to_string(visit.patience));
}

void Journal::admitted(const Visit& visit) {
    write(told("admitted", visit.admitted, visit) + " " + std::to_string(visit.fence) + " " +
          std::to_string(visit.sent));
}

void Journal::trusted(const Visit& visit) {
    write(told("trusted", visit.trusted, visit));
}

void Journal::ended(const Visit& visit) {
    write(told("ended", visit.ended, visit) + " " + word_for(visit.ending));
}

void Journal::complain(const std::string& what) {
    write("complaint " + std::to_string(now()) + " " + what);
}

void Journal::failed(int code, const std::string& sentence) {
    write("failed " + std::to_string(now()) + " " + std::to_string(code) + " " + sentence);
}

void Journal::write(const std::string& line) {
    std::string text = line;
    std::ranges::replace(text, '\n', ' ');
    text += '\n';
    // One that was cut short says why when it is asked for the rest.
    for (std::string_view rest = text; !rest.empty();) {
        const auto written = ::write(file_, rest.data(), rest.size());
        if (written < 0) throw std::system_error(errno, std::generic_category(), "a journal");
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

History read_history(std::span<const std::filesystem::path> journals) {
    History history;
    for (const auto& journal : journals) read_journal(journal, history);
    std::ranges::sort(history.visits, {}, &Visit::asked);
    return history;
}

History read_history(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> journals;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        journals.push_back(entry.path());
    }
    return read_history(journals);
}

}  // namespace holdfast::verify
