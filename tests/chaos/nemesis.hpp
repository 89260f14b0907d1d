#pragma once

#include <map>
#include <string>
#include <vector>

#include "chaos/site.hpp"

namespace holdfast::chaos {

using verify::Excuse;

/// Lets faults loose, one or two at a time, in an order that its random numbers alone decide.
class Nemesis {
public:
    Nemesis(std::vector<Fault> faults, Site& site, Random& random);

    /// One fault, or two that overlap; all is mended when this returns.
    void strike();

    /// When more than one may have held, by the faults that were.
    const std::vector<Excuse>& excuses() const { return excuses_; }
    const std::map<std::string, int>& strikes() const { return strikes_; }

private:
    const Fault& pick();
    void pause_for(std::chrono::milliseconds least, std::chrono::milliseconds most);

    const std::vector<Fault> faults_;
    Site& site_;
    Random& random_;
    std::vector<Excuse> excuses_;
    std::map<std::string, int> strikes_;
};

}  // namespace holdfast::chaos
