#pragma once

#include <vector>

#include "chaos/site.hpp"
#include "port/contender.hpp"

namespace holdfast::chaos {

/// Somebody who ends what he likes by hand, as `holdfast break` does, or a DBA.
class Administrator {
public:
    explicit Administrator(const Site& site) : site_(site) {}

    std::vector<Fault> faults();

private:
    void end_some(std::vector<Place> Line::*those, Random& random) const;

    const Site& site_;
};

}  // namespace holdfast::chaos
