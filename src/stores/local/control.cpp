#include "stores/local/control.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "stores/local/process.hpp"

namespace holdfast::inline v0::local {

namespace {

constexpr std::size_t page_size = 4096;
static_assert(sizeof(ControlPage) <= page_size);

/// What is shared as memory is understood by programs of one word size only.
constexpr std::uint32_t this_abi = sizeof(void*);

}  // namespace

std::string boot_id() {
    const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    char text[sizeof ControlPage::boot_id] = {};
    const auto length = file ? ::read(file.get(), text, sizeof text - 1) : 0;
    std::string id(text, length > 0 ? static_cast<std::size_t>(length) : 0);
    while (!id.empty() && id.back() == '\n') id.pop_back();
    return id;
}

Control::Control(const Folder& folder, int file, std::chrono::milliseconds patience)
    : folder_(folder), file_(file), patience_(patience) {
    struct stat status {};
    if (fstat(file, &status) != 0) folder_.fail_with(errno, "its control page cannot be read");
    if (status.st_size < static_cast<off_t>(page_size)) {
        // Writing to a page that the disk has no room for would end the process by SIGBUS.
        const int error = posix_fallocate(file, 0, page_size);
        if (error != 0) folder_.fail_with(error, "its control page cannot be made");
    }
    void* address = mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (address == MAP_FAILED) folder_.fail_with(errno, "its control page cannot be mapped");
    page_ = static_cast<ControlPage*>(address);
    try {
        refuse_foreign();
    } catch (...) {
        munmap(page_, page_size);
        throw;
    }
}

Control::~Control() {
    munmap(page_, page_size);
}

void Control::refuse_foreign() const {
    if (page_->magic == 0) return;
    if (!made()) {
        folder_.fail(errc::bad_configuration,
                     "its file control was not written by holdfast; name another folder: "
                     "local:///folder");
    }
    if (page_->format > ControlPage::current_format) fail_of_another_version();
    if (is_current() && page_->abi != this_abi) {
        folder_.fail(errc::bad_configuration,
                     "is used by programs of another word size, which cannot share memory with "
                     "this one; name another folder: local:///folder");
    }
}

void Control::fail_of_another_version() const {
    const bool newer = page_->format > ControlPage::current_format;
    folder_.fail(errc::bad_configuration,
                 std::string(newer ? "was made by a newer" : "is used by an older") +
                     " version of holdfast (format " + std::to_string(page_->format) +
                     ", this one knows " + std::to_string(ControlPage::current_format) +
                     "); use one version, or name another folder: local:///folder");
}

void Control::start_afresh(std::string_view boot) {
    // Whoever dies from here on leaves a page that is not made yet, but for the fence.
    page_->magic = 0;
    page_->format = ControlPage::current_format;
    page_->abi = this_abi;
    std::memset(page_->boot_id, 0, sizeof page_->boot_id);
    std::memcpy(page_->boot_id, boot.data(), std::min(boot.size(), sizeof page_->boot_id - 1));
    page_->table_inode = 0;
    page_->map_size = 0;
    page_->time_namespace = own_time_namespace();
    page_->turnstile.inside = 0;
    page_->turnstile.turns = 0;
    page_->turnstile.client = 0;
    page_->magic = ControlPage::written_by_holdfast;
}

void Control::join(const Registrant& self) {
    assert(is_current());
    turnstile_.emplace(page_->turnstile, folder_, file_, self, patience_);
}

}  // namespace holdfast::inline v0::local
