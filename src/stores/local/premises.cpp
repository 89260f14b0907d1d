#include "stores/local/premises.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "stores/local/doorbell.hpp"

namespace holdfast::inline v0::local {

namespace {

constexpr const char* control_name = "control";
constexpr std::chrono::milliseconds check_interval{100};

}  // namespace

Premises::Premises(const LocalOptions& options, const Registrant& self)
    : folder_(options.folder, options.mode),
      control_file_(folder_.open_file(control_name).release()),
      pulse_(folder_.open_file(control_name)),
      control_(folder_, control_file_.get(), options.request_timeout) {
    open(options.request_timeout);
    pulse_.start(folder_, self.id);
    control_.join(self);
    environment_.emplace(folder_, control_);
}

void Premises::open(std::chrono::milliseconds patience) {
    const std::string boot = boot_id();
    const auto fits = [&] {
        return control_.is_current() && belongs_together() && is_of_this_clock() &&
               boot == control_.page().boot_id;
    };
    pulse_.open_door(folder_, patience);
    if (fits()) return;
    // Given up in between: two that hold the door open would wait for each other.
    pulse_.close_door();
    pulse_.bar_door(folder_, patience);
    if (!fits()) prepare(boot);
}

bool Premises::belongs_together() const {
    const ControlPage& page = control_.page();
    return control_.made() && page.table_inode != 0 &&
           folder_.inode_of(table_file) == page.table_inode;
}

/// Leases are counted on CLOCK_BOOTTIME, which a time namespace shifts.
bool Premises::is_of_this_clock() const {
    return control_.page().time_namespace == own_time_namespace();
}

/// Nobody else can open the store meanwhile, and whoever has it open has a pulse.
void Premises::prepare(const std::string& boot) {
    // Once more: another version may have been here since the page was mapped.
    control_.refuse_foreign();
    if (!anybody_has_pulse(control_file())) {
        control_.start_afresh(boot);
        Doorbell::remove_all(folder_);
    } else if (!control_.is_current()) {
        control_.fail_of_another_version();
    } else if (!belongs_together()) {
        folder_.fail(errc::unreachable, std::string("its file ") + table_file +
                                            " was removed or replaced while other processes use "
                                            "it; end them (fuser " +
                                            folder_.path() + "/" + control_name + ")");
    } else if (!is_of_this_clock()) {
        folder_.fail(errc::bad_configuration,
                     "is used by processes of another time namespace, whose clock differs: leases "
                     "would end too early or too late; use one time namespace, or name another "
                     "folder: local:///folder");
    }
    // Else only the boot id differs: a container may have one of its own.
}

int Premises::share_pulse() const {
    return fcntl(pulse_.descriptor(), F_DUPFD_CLOEXEC, 0);
}

void Premises::look_for_files(Moment now) {
    struct stat status {};
    if (fstat(control_file(), &status) == 0 && status.st_nlink == 0) {
        folder_.fail(errc::unreachable,
                     "its folder was removed while in use, so that its locks exclude no new "
                     "process; stop the guarded work and open the store again");
    }
    check_due_.store(now + check_interval, std::memory_order_relaxed);
}

}  // namespace holdfast::inline v0::local
