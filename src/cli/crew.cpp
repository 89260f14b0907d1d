#include "cli/crew.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"

namespace holdfast::cli {
namespace {

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status)) return formatted("by signal {}", WTERMSIG(status));
    return formatted("with code {}", WEXITSTATUS(status));
}

}  // namespace

Crew::Crew(ContendingOrders orders, std::size_t size)
    : orders_(std::move(orders)), random_(orders_.seed) {
    while (members_.size() < size) hire();
}

void Crew::hire() {
    orders_.client = std::to_string(clients_.size() + 1);
    orders_.seed = random_();
    members_.push_back({.process = ContendingProcess(orders_)});
    clients_.push_back(orders_.client);
}

std::vector<Crew::Member*> Crew::running() {
    std::vector<Member*> found;
    for (Member& one : members_) {
        if (one.pause == 0) found.push_back(&one);
    }
    return found;
}

void Crew::pause_one(std::chrono::nanoseconds time) {
    const auto candidates = running();
    if (candidates.empty()) return;
    Member& one = *candidates[random_() % candidates.size()];
    const verify::Instant begin = verify::now();
    one.process.signal(SIGSTOP);
    one.goes_on = begin + time.count();
    interferences_.push_back({.client = one.process.client(), .begin = begin});
    one.pause = interferences_.size();
}

void Crew::go_on(Member& member) {
    if (member.pause == 0) return;
    member.process.signal(SIGCONT);
    interferences_[member.pause - 1].end = verify::now();
    member.pause = 0;
}

void Crew::kill_one() {
    const auto candidates = running();
    if (candidates.empty()) return;
    const auto place = candidates[random_() % candidates.size()] - members_.data();
    ContendingProcess gone = std::move(members_[static_cast<std::size_t>(place)].process);
    members_.erase(members_.begin() + place);
    interferences_.push_back({.client = gone.client(), .begin = verify::now(), .killed = true});
    gone.signal(SIGKILL);
    gone.ended(std::chrono::minutes{1});
    history_.append(gone.history());
    hire();
}

void Crew::look_after() {
    for (Member& one : members_) {
        if (one.pause != 0 && one.goes_on <= verify::now()) go_on(one);
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto status = members_[i].process.ended();
        if (!status) continue;
        take_leave(members_[i], *status);
        members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i--));
    }
}

void Crew::take_leave(const Member& member, int status) {
    // It has said so itself, and a history with holes says nothing of the store.
    if (WIFEXITED(status) && WEXITSTATUS(status) == not_written) throw NotWritten{};
    history_.append(member.process.history());
    if (status == 0) return;
    seen_.push_back(
        {verify::Promise::works,
         {.at = verify::now(),
          .what = formatted("client {} ended {}", member.process.client(), how_it_ended(status))}});
}

void Crew::dismiss() {
    for (Member& one : members_) {
        go_on(one);
        one.process.dismiss();
    }
}

bool Crew::have_ended(std::chrono::nanoseconds limit) {
    if (!members_.empty()) {
        if (const auto status = members_.back().process.ended(limit)) {
            const Member gone = std::move(members_.back());
            members_.pop_back();
            take_leave(gone, *status);
        }
    }
    return members_.empty();
}

void Crew::give_up() {
    for (Member& one : members_) {
        const std::string& client = one.process.client();
        seen_.push_back({verify::Promise::ends,
                         {.at = verify::now(),
                          .what = formatted("client {} did not end when it was told to", client)}});
        one.process.signal(SIGKILL);
        one.process.ended(std::chrono::minutes{1});
        history_.append(one.process.history());
    }
    members_.clear();
}

void Crew::write_into(verify::Trial& trial) && {
    trial.clients = std::move(clients_);
    trial.interferences = std::move(interferences_);
    trial.seen = std::move(seen_);
    trial.history = std::move(history_);
}

}  // namespace holdfast::cli
