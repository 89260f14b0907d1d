#include <algorithm>
#include <cstdint>
#include <set>

#include "support/proxy_protocol.hpp"

/// As much of HTTP/2, of gRPC and of its messages as there is to be seen without state: frames, and
/// what is in those with data.
namespace holdfast::test {

namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t frame_head = 9;

enum class FrameType { data = 0, headers = 1 };

std::uint32_t number_at(std::string_view bytes, std::size_t place, std::size_t size) {
    std::uint32_t number = 0;
    for (const char byte : bytes.substr(place, size)) {
        number = number << 8U | static_cast<unsigned char>(byte);
    }
    return number;
}

struct Frame {
    explicit Frame(std::string_view bytes)
        : is_greeting(bytes == preface),
          type(static_cast<FrameType>(bytes.at(3))),
          ends_stream((static_cast<unsigned char>(bytes.at(4)) & 1U) != 0),
          stream(number_at(bytes, 5, 4)),
          content(bytes.substr(frame_head)) {}

    bool is(FrameType which) const { return !is_greeting && type == which; }

    bool is_greeting;
    FrameType type;
    bool ends_stream;
    std::uint32_t stream;
    std::string_view content;
};

class Http2Protocol final : public ProxyProtocol {
public:
    std::optional<std::size_t> size_of_first(std::string_view bytes) const override {
        if (bytes.starts_with(preface)) return preface.size();
        if (bytes.size() < frame_head || bytes.starts_with(preface.substr(0, frame_head))) {
            return std::nullopt;
        }
        const std::size_t size = frame_head + number_at(bytes, 0, 3);
        return bytes.size() < size ? std::nullopt : std::optional(size);
    }
    std::size_t replies_to(std::string_view request) override {
        const Frame frame(request);
        if (!frame.is(FrameType::data) || !frame.ends_stream) return 0;
        return asked_.insert(frame.stream).second ? 1 : 0;
    }
    bool is_push(std::string_view reply) override {
        const Frame frame(reply);
        return !frame.is(FrameType::headers) || asked_.erase(frame.stream) == 0;
    }

private:
    std::set<std::uint32_t> asked_;
};

/// The fields of a message, of which those are seen that are messages or bytes.
class Fields {
public:
    explicit Fields(std::string_view message) : rest_(message) {}

    struct Field {
        std::uint64_t number = 0;
        std::string_view content;  ///< empty of a number
    };
    std::optional<Field> next() {
        const std::uint64_t tag = varint();
        if (tag == 0) return std::nullopt;
        if ((tag & 7U) == 0) {
            varint();
            return Field{.number = tag >> 3U, .content = {}};
        }
        if ((tag & 7U) != 2) return std::nullopt;
        const std::size_t size = std::min<std::size_t>(varint(), rest_.size());
        const Field field{.number = tag >> 3U, .content = rest_.substr(0, size)};
        rest_.remove_prefix(size);
        return field;
    }

private:
    std::uint64_t varint() {
        std::uint64_t number = 0;
        for (unsigned shift = 0; !rest_.empty() && shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            number |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            if ((byte & 0x80U) == 0) break;
        }
        return number;
    }

    std::string_view rest_;
};

constexpr std::uint64_t compare = 1;
constexpr std::uint64_t on_success = 2;
constexpr std::uint64_t on_failure = 3;
constexpr std::uint64_t operation_put = 2;
constexpr std::uint64_t operation_delete = 3;

/// Nothing when it is no transaction, which begins with what it compares, if it does.
std::optional<EtcdVerb> transaction_verb(std::string_view message) {
    Fields fields(message);
    bool is_one = false;
    bool compares = false;
    while (const auto field = fields.next()) {
        is_one |= field->number == on_success || field->number == on_failure;
        if (field->number != on_success && field->number != on_failure &&
            field->number != compare) {
            return std::nullopt;
        }
        compares |= field->number == compare;
        if (field->number != on_success) continue;
        const auto operation = Fields(field->content).next();
        if (operation && operation->number == operation_put) {
            return compares ? EtcdVerb::enter : EtcdVerb::guard;
        }
        if (operation && operation->number == operation_delete) return EtcdVerb::leave;
    }
    return is_one ? std::optional(EtcdVerb::look) : std::nullopt;
}

/// Whoever reads a key says more than which one.
bool deletes_a_key(std::string_view message) {
    Fields fields(message);
    const auto key = fields.next();
    return key && key->number == 1 && !key->content.empty() && !fields.next();
}

}  // namespace

std::unique_ptr<ProxyProtocol> http2_protocol() {
    return std::make_unique<Http2Protocol>();
}

std::optional<EtcdVerb> etcd_verb(std::string_view bytes) {
    // Before a message stand a byte and its length.
    constexpr std::size_t message_head = 5;
    const Frame frame(bytes);
    if (!frame.is(FrameType::data) || frame.content.size() <= message_head) return std::nullopt;
    const std::string_view message = frame.content.substr(message_head);
    if (frame.ends_stream) {
        return deletes_a_key(message) ? EtcdVerb::leave : transaction_verb(message);
    }
    const auto first = Fields(message).next();
    if (!first || first->number != 1) return std::nullopt;
    return first->content.empty() ? EtcdVerb::keep_alive : EtcdVerb::watch;
}

}  // namespace holdfast::test
