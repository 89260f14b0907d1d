#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/descriptor.hpp"
#include "verify/contention.hpp"

namespace holdfast::cli {

/// What makes `holdfast verify` one of the processes that contend. No user is told of it.
inline constexpr const char* contending_flag = "--contend";

/// What such a process is to do.
struct ContendingOrders {
    std::string store;
    std::string client = {};  ///< its name in the history
    std::uint64_t seed = 0;
    verify::Manner manner;
};

/// A process of ours that contends until it is dismissed, or this one ends, however. Killed and
/// reaped with this object. It keeps its journal in a file that has no name.
class ContendingProcess {
public:
    explicit ContendingProcess(const ContendingOrders& orders);
    ~ContendingProcess();
    ContendingProcess(ContendingProcess&& other) noexcept;
    ContendingProcess& operator=(ContendingProcess&& other) noexcept;

    const std::string& client() const { return client_; }
    void signal(int number) const;
    /// It gives back what it holds, leaves the lines it is in, and ends.
    void dismiss() { orders_ = {}; }
    /// How it ended, as waitpid(2) tells; nothing when it has not by then.
    std::optional<int> ended(std::chrono::nanoseconds limit = {});
    verify::History history() const;

private:
    void spawn(const ContendingOrders& orders);

    std::string client_;
    pid_t pid_ = -1;  ///< -1 when it was reaped
    Descriptor journal_;
    Descriptor orders_;
};

/// Contends by the orders at standard input until that ends. The exit code.
int contend();

}  // namespace holdfast::cli
