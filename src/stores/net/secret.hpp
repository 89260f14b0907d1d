#pragma once

#include <string>
#include <string_view>

namespace holdfast::inline v0::net {

/// What a server said, or what is stored there, as a part of a sentence: on one line, and not
/// longer than one reads. What is no character is shown as \xHH.
std::string quotable(std::string_view text);

/// What a server said, quotable, and without the password that it may quote: what we sent it comes
/// back in an error about an unknown command, cut off somewhere perhaps. Every text of a server
/// goes through this before it is part of a sentence.
///
/// A long secret is cut out wherever it stands, also where only its beginning does. A short one is
/// cut out as a word alone, or a password of one letter would leave no sentence to read.
std::string without_secret(std::string_view text, std::string_view secret);

}  // namespace holdfast::inline v0::net
