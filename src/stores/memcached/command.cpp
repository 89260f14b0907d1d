#include "stores/memcached/command.hpp"

#include <utility>

namespace holdfast::inline v0::memcached {

namespace {

std::string storing(std::string_view key, std::string_view value, std::chrono::milliseconds lease) {
    std::string line = "ms ";
    return line.append(key)
        .append(" ")
        .append(std::to_string(value.size()))
        .append(" c T")
        .append(std::to_string(seconds_for(lease)));
}

}  // namespace

std::int64_t seconds_for(std::chrono::milliseconds lease) {
    return std::chrono::ceil<std::chrono::seconds>(lease).count() + 1;
}

Command Command::add(std::string_view key, std::string_view value,
                     std::chrono::milliseconds lease) {
    return {storing(key, value, lease).append(" ME"), std::string(value).append("\r\n")};
}

Command Command::replace(std::string_view key, std::string_view value,
                         std::chrono::milliseconds lease, std::uint64_t cas) {
    return {storing(key, value, lease).append(" C").append(std::to_string(cas)),
            std::string(value).append("\r\n")};
}

Command Command::remove(std::string_view key, std::uint64_t cas) {
    return {std::string("md ").append(key).append(" C").append(std::to_string(cas))};
}

Command Command::look(std::string_view key) {
    return {std::string("mg ").append(key).append(" v c t")};
}

Command Command::nothing() {
    return {"mn"};
}

void Command::append_to(std::string& bytes, std::uint64_t number) const {
    bytes.append(line_);
    if (line_ != "mn") bytes.append(" O").append(std::to_string(number));
    bytes.append("\r\n").append(value_);
}

}  // namespace holdfast::inline v0::memcached
