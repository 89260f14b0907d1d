#pragma once

#include <holdfast/stores.hpp>

namespace holdfast::inline v0::scripted {

/// Of a server that does all that we know.
inline constexpr Capabilities everything{.fifo = true,
                                         .barging = true,
                                         .shared = true,
                                         .permits = true,
                                         .reenter = true,
                                         .enter_together = true};

}  // namespace holdfast::inline v0::scripted
