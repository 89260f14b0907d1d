#pragma once

/// A host's name with two addresses, for the unit tests: first 127.0.0.2 and then 127.0.0.1.
namespace holdfast::test {

inline constexpr const char* two_addresses = "two-addresses.test";

}  // namespace holdfast::test
