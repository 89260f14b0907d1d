#include <cstdint>
#include <string>

#include "support/proxy_protocol.hpp"

/// As much of what databases speak as it takes to tell requests and replies.
namespace holdfast::test {

namespace {

std::size_t byte_at(std::string_view bytes, std::size_t place) {
    return static_cast<unsigned char>(bytes[place]);
}

/// Packets behind their lengths. Each command begins a count of packets that its answer goes on
/// with: so the first of an answer is known, and what follows it is taken for pushes.
class MysqlProtocol final : public ProxyProtocol {
public:
    std::optional<std::size_t> size_of_first(std::string_view bytes) const override {
        if (bytes.size() < head) return std::nullopt;
        const std::size_t size =
            head + (byte_at(bytes, 0) | byte_at(bytes, 1) << 8U | byte_at(bytes, 2) << 16U);
        return bytes.size() < size ? std::nullopt : std::optional(size);
    }
    std::size_t replies_to(std::string_view request) override {
        constexpr std::size_t quit = 1;
        const bool is_command = byte_at(request, 3) == 0 && request.size() > head;
        return is_command && byte_at(request, head) != quit ? 1 : 0;
    }
    bool is_push(std::string_view reply) override { return byte_at(reply, 3) != 1; }

private:
    static constexpr std::size_t head = 4;
};

/// Messages of a letter and a length; the first of a client has no letter. A request ends with the
/// message that wants an answer at once, a reply with that which says that the next may come.
class PostgresProtocol final : public ProxyProtocol {
public:
    std::optional<std::size_t> size_of_first(std::string_view bytes) const override {
        if (bytes.empty()) return std::nullopt;
        // To one that asks for TLS.
        if (bytes == "N" || bytes == "S") return 1;
        if (bytes.front() == '\0') return end_of_message(bytes, 0);
        char last = bytes.front();
        if (last == 'P' || last == 'B') last = 'S';
        if (is_reply(bytes.front())) last = 'Z';
        for (std::size_t at = 0; at < bytes.size();) {
            const bool is_last = bytes[at] == last;
            const auto end = end_of_message(bytes, at + 1);
            if (!end || is_last) return end;
            at = *end;
        }
        return std::nullopt;
    }
    std::size_t replies_to(std::string_view request) override {
        const char letter = request.front();
        if (letter == '\0') return request.substr(4).starts_with(asks_for_tls) ? 0 : 1;
        return letter == 'p' || letter == 'X' ? 0 : 1;
    }
    bool is_push(std::string_view reply) override { return !is_reply(reply.front()); }

private:
    static constexpr std::string_view asks_for_tls{"\x04\xd2\x16\x2f", 4};

    /// Whether more follows, up to the last. An error may be the last word of the server, and what
    /// is said of passwords wants an answer.
    static bool is_reply(char letter) {
        return std::string_view("123CDIKTZnst").find(letter) != std::string_view::npos;
    }
    static std::optional<std::size_t> end_of_message(std::string_view bytes, std::size_t length) {
        if (bytes.size() < length + 4) return std::nullopt;
        std::size_t size = 0;
        for (std::size_t i = 0; i < 4; ++i) size = size << 8U | byte_at(bytes, length + i);
        return bytes.size() < length + size ? std::nullopt : std::optional(length + size);
    }
};

}  // namespace

std::unique_ptr<ProxyProtocol> mysql_protocol() {
    return std::make_unique<MysqlProtocol>();
}

std::unique_ptr<ProxyProtocol> postgres_protocol() {
    return std::make_unique<PostgresProtocol>();
}

}  // namespace holdfast::test
