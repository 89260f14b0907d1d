#pragma once

#include <string>
#include <vector>

namespace holdfast::test {

/// Gives a host's name these addresses, in this order, for all of this process, as long as this
/// object lives.
class HostName {
public:
    HostName(std::string name, std::vector<std::string> addresses);
    ~HostName();
    HostName(const HostName&) = delete;
    HostName& operator=(const HostName&) = delete;
};

}  // namespace holdfast::test
