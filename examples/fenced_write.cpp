// What the fence is for: a holder that was paused past its lease wakes up and writes. No check in
// the holder can prevent that, but what it writes to can refuse it.
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>

#include <holdfast/holdfast.hpp>

namespace {

/// A store of the user's own: it remembers the highest fence, and refuses whoever comes with less.
class Document {
public:
    bool write(std::string text, std::uint64_t fence) {
        if (fence < highest_fence_) return false;
        highest_fence_ = fence;
        text_ = std::move(text);
        return true;
    }
    const std::string& text() const { return text_; }

private:
    std::uint64_t highest_fence_ = 0;
    std::string text_;
};

}  // namespace

int main(int count, char** words) {
    auto client = count > 1 ? holdfast::connect(words[1]) : holdfast::connect();
    Document document;

    auto editor = client.mutex("document");
    const std::uint64_t late_fence = editor.acquire().fence();  // given back at once: as if expired
    client.with_lock("document", [&](const holdfast::Hold& hold) {
        document.write("by the new holder", hold.fence());
    });

    const bool accepted = document.write("by the late one", late_fence);
    std::cout << (accepted ? "overwritten" : "refused") << ": " << document.text() << '\n';
    return accepted ? 1 : 0;
}
