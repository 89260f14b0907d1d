#include <dlfcn.h>
#include <gtest/gtest.h>
#include <cstdint>
#include <filesystem>
#include <future>
#include <string>

#include "support/temporary_folder.hpp"

namespace holdfast::test {
namespace {

/// A copy of the library, with statics, threads and files of its own.
class Copy {
public:
    explicit Copy(const std::string& path)
        : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)),
          try_acquire(find<std::uint64_t(const char*, const char*)>("copy_try_acquire")),
          acquire(find<std::uint64_t(const char*, const char*)>("copy_acquire")),
          release(find<void()>("copy_release")) {}

private:
    template <class Function>
    Function* find(const char* name) {
        if (library_ == nullptr) throw std::runtime_error(dlerror());
        return reinterpret_cast<Function*>(dlsym(library_, name));
    }
    void* library_;

public:
    std::uint64_t (*try_acquire)(const char* url, const char* name);
    std::uint64_t (*acquire)(const char* url, const char* name);
    void (*release)();
};

TEST(TwoCopiesOfTheLibrary, InOneProcessExcludeEachOtherAndHandOver) {
    const TemporaryFolder folder;
    const std::string url = "local://" + (folder.path() / "store").string();
    const std::string second = folder.path() / "second.so";
    std::filesystem::copy_file(LIBRARY_COPY, second);
    const Copy ada(LIBRARY_COPY);
    const Copy bob(second);
    ASSERT_NE(ada.release, bob.release) << "the loader took them for one";

    const std::uint64_t first_fence = ada.try_acquire(url.c_str(), "jobs");
    ASSERT_GT(first_fence, 0U);
    EXPECT_EQ(bob.try_acquire(url.c_str(), "jobs"), 0U);

    auto waiting = std::async(std::launch::async, [&] { return bob.acquire(url.c_str(), "jobs"); });
    ada.release();
    EXPECT_GT(waiting.get(), first_fence);
    EXPECT_EQ(ada.try_acquire(url.c_str(), "jobs"), 0U);
    bob.release();
    EXPECT_GT(ada.try_acquire(url.c_str(), "jobs"), first_fence);
    ada.release();
}

}  // namespace
}  // namespace holdfast::test
