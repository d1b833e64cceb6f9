#pragma once

#include "frontend/lower/lowerer.h"

// Variables: declarations, types and the tensors that they denote.
namespace tdsl::frontend {

SymbolRef declare_value(Lowerer& lowerer, const ast::Identifier& name, Symbol::Kind kind, ir::ValueId value,
                        const StorageRef& storage = {});
/// Declares a `let` or a `var`.
void declare_named(Lowerer& lowerer, const ast::Identifier& name, bool is_mutable, const Stored& stored);
/// For `check --types`.
void tell_type(Lowerer& lowerer, const Symbol& symbol);
Tensor lower_name(Lowerer& lowerer, const std::string& name, const ir::SourceRange& range, bool lone_subscript);
[[nodiscard]] bool is_scalar_variable(const GraphBuilder& graph, const Names& names, const std::string& name);
SymbolRef assignable(Lowerer& lowerer, const ast::Identifier& name);

}  // namespace tdsl::frontend
