#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "frontend/lower/state/frame.h"
#include "frontend/syntax/ast.h"
#include "ir/graph/foreign_header.h"

namespace tdsl::frontend {

/// A function or kernel that `extern` declares.
struct ForeignEntry {
  ir::ForeignRef foreign;  ///< null: reported already, and so are calls
  SourceRange range;
  std::shared_ptr<const ast::Function> kernel =
      {};  ///< of a kernel: its `in`s as parameters, its `out`s as results, and no body
};

/// A monoid, which is lowered at its first use.
struct MonoidEntry {
  const ast::Monoid* monoid = nullptr;
  std::optional<ir::Monoid> lowered;
  ir::Scalar type = ir::Scalar::kF64;
  bool open = false;  ///< being lowered
};

/// The functions, monoids and storages of the program and its imports, by name.
struct Declarations {
  std::map<std::string, FunctionEntry> functions;
  std::map<std::string, ForeignEntry> foreigns;
  std::map<std::string, MonoidEntry> monoids;
  std::map<std::string, const ast::Storage*> storages;
  std::set<std::string> refused;  ///< declared in error: uses are no further mistakes
  bool lacks_import = false;      ///< undeclared names may be those of a file that could not be read
  std::set<std::string> outputs;

  /// Null: there is no such function.
  [[nodiscard]] const ast::Function* function_named(const std::string& name) const {
    const auto found = functions.find(name);
    return found == functions.end() ? nullptr : found->second.function;
  }
};

}  // namespace tdsl::frontend
