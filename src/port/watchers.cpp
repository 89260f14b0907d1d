#include "port/watchers.hpp"

#include <utility>

namespace holdfast::inline v0 {

namespace {
/// The entry whose callback this thread is in: a watch may be destroyed by its own callback.
thread_local const void* entry_called_here = nullptr;
}  // namespace

class Watchers::Registered final : public Watch {
public:
    Registered(std::shared_ptr<Watchers> watchers, const Nonce& nonce, std::shared_ptr<Entry> entry)
        : watchers_(std::move(watchers)), nonce_(nonce), entry_(std::move(entry)) {}
    ~Registered() override { watchers_->remove(nonce_, entry_); }

private:
    std::shared_ptr<Watchers> watchers_;
    Nonce nonce_;
    std::shared_ptr<Entry> entry_;
};

std::unique_ptr<Watch> Watchers::add(const Nonce& nonce, LineMoved line_moved) {
    auto entry = std::make_shared<Entry>();
    entry->line_moved = std::move(line_moved);
    const std::lock_guard guard(mutex_);
    entries_[nonce] = entry;
    return std::make_unique<Registered>(shared_from_this(), nonce, std::move(entry));
}

bool Watchers::watches(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    return entries_.contains(nonce);
}

std::vector<Nonce> Watchers::watched() {
    const std::lock_guard guard(mutex_);
    std::vector<Nonce> nonces;
    nonces.reserve(entries_.size());
    for (const auto& [nonce, entry] : entries_) nonces.push_back(nonce);
    return nonces;
}

void Watchers::call(const Nonce& nonce, const Standing& standing) {
    std::shared_ptr<Entry> entry;
    {
        const std::lock_guard guard(mutex_);
        const auto found = entries_.find(nonce);
        if (found == entries_.end()) return;
        entry = found->second;
        ++entry->calls_in_progress;
    }
    const CallbackScope scope;
    const void* outer = std::exchange(entry_called_here, entry.get());
    // However it ends: a destructor may be waiting for that.
    const auto end_call = [&](void*) {
        entry_called_here = outer;
        const std::lock_guard guard(mutex_);
        --entry->calls_in_progress;
        call_ended_.notify_all();
    };
    const std::unique_ptr<void, decltype(end_call)> ended(this, end_call);
    entry->line_moved(standing);
}

void Watchers::remove(const Nonce& nonce, const std::shared_ptr<Entry>& entry) {
    std::unique_lock lock(mutex_);
    const auto found = entries_.find(nonce);
    if (found != entries_.end() && found->second == entry) entries_.erase(found);
    const int own_calls = entry_called_here == entry.get() ? 1 : 0;
    call_ended_.wait(lock, [&] { return entry->calls_in_progress <= own_calls; });
}

}  // namespace holdfast::inline v0
