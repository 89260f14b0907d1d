#include "faults/host_names.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <mutex>
#include <utility>

namespace {

using LookUp = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

struct Known {
    std::mutex mutex;
    std::string name;
    std::vector<std::string> addresses;
};
Known& known() {
    static Known one;
    return one;
}

std::vector<std::string> addresses_of(const char* name) {
    const std::lock_guard guard(known().mutex);
    if (name == nullptr || known().name.empty() || known().name != name) return {};
    return known().addresses;
}

}  // namespace

/// In place of the C library's, for all that is loaded into this process.
extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* name,
                                                                  const char* service,
                                                                  const addrinfo* hints,
                                                                  addrinfo** result) {
    static const auto real = reinterpret_cast<LookUp>(dlsym(RTLD_NEXT, "getaddrinfo"));
    const auto addresses = addresses_of(name);
    const bool by_number = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
    if (addresses.empty() || by_number) return real(name, service, hints, result);
    addrinfo** end = result;
    *end = nullptr;
    for (const std::string& address : addresses) {
        const int error = real(address.c_str(), service, hints, end);
        if (error != 0) return error;
        while (*end != nullptr) end = &(*end)->ai_next;
    }
    return 0;
}

namespace holdfast::test {

HostName::HostName(std::string name, std::vector<std::string> addresses) {
    const std::lock_guard guard(known().mutex);
    known().name = std::move(name);
    known().addresses = std::move(addresses);
}

HostName::~HostName() {
    const std::lock_guard guard(known().mutex);
    known().name.clear();
}

}  // namespace holdfast::test
