#pragma once

#include <string>
#include <string_view>

namespace holdfast::inline v0::net {

/// What a server said, without the password that it may quote: what we sent it comes back in an
/// error about an unknown command, cut off somewhere perhaps. Every text of a server goes through
/// this before it is part of a sentence.
///
/// A long secret is cut out wherever it stands, also where only its beginning does. A short one is
/// cut out as a word alone, or a password of one letter would leave no sentence to read.
std::string without_secret(std::string_view text, std::string_view secret);

}  // namespace holdfast::inline v0::net
