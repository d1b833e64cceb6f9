#pragma once

#include <string>
#include <vector>

#include "frontend/lower/lowerer.h"

// Built-in functions that are written in TDSL (prelude.cpp).

namespace tdsl::frontend {

/// Calls the function of the prelude of that name. With `points`, the arguments may depend on these index variables.
Tensor call_prelude(Lowerer& lowerer, const std::string& name, const std::vector<Tensor>& args,
                    const ir::SourceRange& range, const std::vector<std::int32_t>& points = {});

}  // namespace tdsl::frontend
