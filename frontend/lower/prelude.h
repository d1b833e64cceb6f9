#pragma once

#include <string>
#include <vector>

#include "frontend/lower/lowerer.h"

// Built-in functions that are written in TDSL (prelude.cpp).

namespace tdsl::frontend {

/// Calls the function of the prelude of that name. With `points`, the arguments may depend on these index variables.
Tensor call_prelude(Lowerer& lowerer, const std::string& name, const std::vector<Tensor>& args,
                    const ir::SourceRange& range, const std::vector<std::int32_t>& points = {});
/// The same for a function with any number of results.
std::vector<Tensor> call_prelude_for_all(Lowerer& lowerer, const std::string& name, const std::vector<Tensor>& args,
                                         const ir::SourceRange& range, const std::vector<std::int32_t>& points = {});
/// The tensor of the results for each element of `elements`; the arguments mention its labels. If they mention no other
/// index variable, conditions on such variables do not matter: the tensor is computed once.
Tensor call_prelude_for_each(Lowerer& lowerer, const std::string& name, const std::vector<Tensor>& args,
                             Tensor elements, const ir::SourceRange& range);

}  // namespace tdsl::frontend
