#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port/pending.hpp"
#include "stores/etcd/common.hpp"

namespace holdfast::inline v0::etcd {

/// All lines whose resource begins with `prefix`.
Pending<std::vector<Line>> list_lines(const std::shared_ptr<Common>& common,
                                      const std::string& prefix);
/// That of one resource.
Pending<std::vector<Line>> list_line(const std::shared_ptr<Common>& common,
                                     const std::string& resource);

}  // namespace holdfast::inline v0::etcd
