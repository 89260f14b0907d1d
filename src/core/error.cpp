#include <holdfast/error.hpp>

namespace holdfast::inline v0 {

namespace {

class Category final : public std::error_category {
public:
    const char* name() const noexcept override { return "holdfast"; }

    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::invalid_argument:
                return "invalid argument";
            case errc::not_supported:
                return "not supported by the store";
            case errc::bad_configuration:
                return "bad configuration";
            case errc::unreachable:
                return "store unreachable";
            case errc::conflict:
                return "conflicting use of a resource";
            case errc::deadlock:
                return "resource deadlock would occur";
            case errc::lost:
                return "hold lost";
            case errc::cancelled:
                return "cancelled";
            case errc::inherited:
                return "inherited by a forked child";
            case errc::corrupt:
                return "corrupt store";
        }
        return "unknown error";
    }

    std::error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<errc>(value)) {
            case errc::invalid_argument:
                return std::errc::invalid_argument;
            case errc::not_supported:
                return std::errc::not_supported;
            case errc::deadlock:
                return std::errc::resource_deadlock_would_occur;
            case errc::cancelled:
                return std::errc::operation_canceled;
            default:
                return {value, *this};
        }
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    // Never destroyed: an Error may outlive every static.
    static const Category& instance = *new Category;
    return instance;
}

std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), error_category()};
}

Error::Error(errc code, const std::string& sentence, Effect effect)
    : std::system_error(make_error_code(code), sentence),
      sentence_(std::make_shared<const std::string>(sentence)),
      effect_(effect) {}

Error::~Error() = default;

}  // namespace holdfast::inline v0
