#pragma once

#include "frontend/lower/lowerer.h"

// Functions and kernels of C++ headers.
namespace tdsl::frontend {

void declare_extern(Lowerer& lowerer, const ast::Extern& e,
                    const std::function<bool(const ast::Identifier&)>& declared);
Tensor call_foreign_function(Lowerer& lowerer, const ForeignEntry& entry, const ast::Call& call,
                             const ir::SourceRange& range);
std::vector<Tensor> call_foreign_kernel(Lowerer& lowerer, const ForeignEntry& entry, const ast::Call& call,
                                        const ir::SourceRange& range);

}  // namespace tdsl::frontend
