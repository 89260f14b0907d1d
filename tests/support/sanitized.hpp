#pragma once

namespace holdfast::test {

/// Whether a sanitizer watches: everything takes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace holdfast::test
