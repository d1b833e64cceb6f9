#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "frontend/lower/state/reports.h"
#include "frontend/syntax/ast.h"
#include "ir/graph/foreign_header.h"

namespace tdsl::frontend {

/// A function or kernel declared by `extern`.
struct ForeignEntry {
  ir::ForeignRef foreign;  ///< null: reported already, so calls are not
  SourceRange range;
  std::shared_ptr<const ast::Function> kernel =
      {};  ///< of a kernel: a function without body, with its `in`s as parameters and its `out`s as results
};

/// A monoid, lowered at its first use.
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
  std::set<std::string> refused;  ///< invalid declarations: uses are not reported
  bool lacks_import = false;      ///< an import failed, so undeclared names may belong to that file
  std::set<std::string> outputs;
  std::map<std::string, ir::ValueId> records;  ///< of each series a value that has the type of its records

  /// The function of that name, or null.
  [[nodiscard]] const ast::Function* function_named(const std::string& name) const {
    const auto found = functions.find(name);
    return found == functions.end() ? nullptr : found->second.function;
  }
};

}  // namespace tdsl::frontend
