#include "servers/data_template.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace holdfast::test {

namespace {

/// One process makes it, the others wait.
class FolderLock {
public:
    explicit FolderLock(const std::filesystem::path& path)
        : descriptor_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
        if (descriptor_ < 0 || flock(descriptor_, LOCK_EX) != 0) {
            throw std::system_error(errno, std::generic_category(), path.string());
        }
    }
    ~FolderLock() { close(descriptor_); }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int descriptor_;
};

}  // namespace

void run_to_end(const std::string& command) {
    FILE* const pipe = popen((command + " 2>&1").c_str(), "re");
    if (pipe == nullptr) throw std::system_error(errno, std::generic_category(), command);
    std::string said;
    std::array<char, 1024> buffer{};
    while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) said += buffer.data();
    if (pclose(pipe) != 0) throw std::runtime_error(command + " failed: " + said);
}

std::filesystem::path data_template(const std::string& name,
                                    const std::function<void(const std::filesystem::path&)>& make) {
    const std::filesystem::path folder = HOLDFAST_TEST_TEMPLATES;
    std::filesystem::create_directories(folder);
    const FolderLock lock(folder / (name + ".lock"));
    const std::filesystem::path made = folder / name;
    if (std::filesystem::exists(made)) return made;
    const std::filesystem::path unfinished = folder / (name + ".unfinished");
    std::filesystem::remove_all(unfinished);
    make(unfinished);
    std::filesystem::rename(unfinished, made);
    return made;
}

}  // namespace holdfast::test
