#pragma once

#include <memory>
#include <string>
#include <system_error>
#include <type_traits>

#include <holdfast/export.hpp>

namespace holdfast::inline v0 {

/// What went wrong. Busy and timed out are no errors: they give an empty Attempt.
enum class errc {
    invalid_argument = 1,  ///< a name, weight, lease or wait that cannot be meant
    not_supported,         ///< the store cannot do what the lock asks for
    bad_configuration,     ///< an unknown scheme or parameter, an unusable folder
    unreachable,           ///< the store did not answer, or not in time
    conflict,              ///< the resource has another capacity or fairness now
    deadlock,              ///< waiting would never end
    lost,                  ///< the lease can no longer be trusted
    cancelled,             ///< the wait was stopped by its stop_token
    inherited,             ///< made before fork(): inert in the child
    corrupt,               ///< the store holds what holdfast did not write
};

HOLDFAST_EXPORT const std::error_category& error_category() noexcept;
HOLDFAST_EXPORT std::error_code make_error_code(errc code) noexcept;

/// Whether a failed request may have reached the store all the same.
enum class Effect { none, unknown };

/// A failure, in one sentence: who, which resource, what happened, what to do.
/// `errc::deadlock` compares equal to std::errc::resource_deadlock_would_occur, and so on for the
/// codes that the standard knows too. Copying does not throw. Immutable, so safe to share between
/// threads.
class HOLDFAST_EXPORT Error : public std::system_error {
public:
    Error(errc code, const std::string& sentence, Effect effect = Effect::none);
    ~Error() override;

    const char* what() const noexcept override { return sentence_->c_str(); }
    Effect effect() const noexcept { return effect_; }

private:
    std::shared_ptr<const std::string> sentence_;
    Effect effect_;
};
static_assert(std::is_nothrow_copy_constructible_v<Error>);

}  // namespace holdfast::inline v0

template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
