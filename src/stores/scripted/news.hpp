#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "port/contender.hpp"

namespace holdfast::inline v0::scripted {

/// What a push says, and whom it concerns.
struct News {
    enum class Whom : std::uint8_t {
        these,         ///< by their nonces; perhaps nobody
        the_only_one,  ///< whoever waits, if nobody else of this client does
        everybody,     ///< each has to ask: who is concerned was lost
    };

    Whom whom = Whom::these;
    std::vector<Nonce> nonces = {};
    Standing standing = {};
};

/// Reads what our own scripts and procedures tell a waiter: "NONCE o", "NONCE g", "NONCE w" or
/// "NONCE w MILLISECONDS". Anything else concerns nobody.
News news_in(std::string_view message);

}  // namespace holdfast::inline v0::scripted
