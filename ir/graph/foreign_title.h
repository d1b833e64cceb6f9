#pragma once

#include <set>
#include <string>

#include "ir/graph/foreign.h"

namespace tdsl::ir {

/// "'gelu' of kernels.hpp"
[[nodiscard]] std::string title_of(const Foreign& foreign);

/// Messages refer to functions with these titles as: "the C++ function 'f' of k.hpp", "one of the C++ functions 'f' of
/// k.hpp, 'g' of k.hpp".
[[nodiscard]] std::string title_of(const std::set<std::string>& functions);

}  // namespace tdsl::ir
