#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/error.hpp>

#include "port/store_url.hpp"
#include "property.hpp"

namespace holdfast::fuzz {
namespace {

struct Outcome {
    std::optional<StoreUrl> url;
    std::string refusal;
};

/// Whatever else is thrown ends the run.
Outcome outcome_of(std::string_view text) {
    try {
        return {.url = parse_store_url(text), .refusal = {}};
    } catch (const Error& error) {
        expect(error.code() == errc::bad_configuration, "a refused URL is bad configuration");
        return {.url = std::nullopt, .refusal = error.what()};
    }
}

void every_parameter_is_read_or_refused(const StoreUrl& url) {
    for (const auto& [name, value] : url.parameters) {
        expect(url.text(name) == value, "a parameter has its text");
        try {
            const auto duration = url.duration(name);
            expect(duration && duration->count() > 0, "a duration is longer than nothing");
        } catch (const Error& error) {
            expect(error.code() == errc::bad_configuration, "no duration is bad configuration");
        }
    }
    static_cast<void>(url.prefix());
}

void what_is_shown_names_the_same_store(const StoreUrl& url) {
    const Outcome again = outcome_of(url.shown);
    expect(again.url.has_value(), "what is shown can be parsed");
    expect(again.url->password.empty(), "what is shown has no password");
    expect(again.url->shown == url.shown, "what is shown stays as it is");
    expect(again.url->scheme == url.scheme, "the scheme is shown");
    expect(again.url->user == url.user, "the user is shown");
    expect(again.url->hosts == url.hosts, "the hosts are shown");
    expect(again.url->path == url.path, "the path is shown");
    auto harmless = url.parameters;
    harmless.erase(std::string(StoreUrl::secret_parameter));
    expect(again.url->parameters == harmless, "the parameters are shown, but the secret one");
}

/// With a secret where a password may be meant: anywhere between the first ':' behind that of the
/// scheme and the last '@'.
std::optional<std::string> with_secret(std::string_view text, std::string_view secret) {
    const std::size_t scheme_end = text.find(':');
    if (scheme_end == std::string_view::npos) return std::nullopt;
    const std::size_t first = text.find(':', scheme_end + 1);
    const std::size_t last = text.rfind('@');
    if (first == std::string_view::npos || last == std::string_view::npos || last < first) {
        return std::nullopt;
    }
    const std::size_t place = first + 1 + std::hash<std::string_view>{}(text) % (last - first);
    return std::string(text).insert(place, secret);
}

bool tells(const Outcome& outcome, std::string_view secret) {
    return outcome.refusal.find(secret) != std::string::npos ||
           (outcome.url && outcome.url->shown.find(secret) != std::string::npos);
}

/// The secret has a capital letter, so that no scheme, told in small ones, can look like it.
void no_secret_is_told(std::string_view text) {
    constexpr std::string_view secret = "S3cr3t";
    if (tells(outcome_of(text), secret)) return;
    const auto with_it = with_secret(text, secret);
    if (!with_it) return;
    expect(!tells(outcome_of(*with_it), secret), "no password is told");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::fuzz;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const Outcome outcome = outcome_of(text); outcome.url) {
        every_parameter_is_read_or_refused(*outcome.url);
        what_is_shown_names_the_same_store(*outcome.url);
    }
    no_secret_is_told(text);
    return 0;
}
