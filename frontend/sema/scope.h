#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/sema/storage.h"
#include "frontend/sema/tensor.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// The meaning of a name.
struct Symbol {
  enum class Kind : std::uint8_t {
    kLet,
    kVar,
    kParam,
    kInput,
    kLoop,    ///< variable of a `for` statement
    kIndex,   ///< index variable of a statement or reduction, with value `lazy`
    kInline,  ///< parameter or local of a function that denotes the expression `lazy`
    kBroken,  ///< its declaration is invalid: uses are not reported
  };
  std::string name;
  ir::SourceRange range;
  Kind kind = Kind::kLet;
  ir::ValueId value;   ///< the current value; not for kIndex, kInline and kBroken
  StorageRef storage;  ///< user-defined storage: `value` is the stored tensor
  std::vector<std::pair<std::int64_t, ir::ValueId>> history;  ///< all values so far, with their ticks
  Tensor lazy;
  std::int32_t label = -1;  ///< of a kIndex
  bool is_label = false;    ///< kIndex: its value is the label itself, not `begin + step * label`
  bool any_rank = false;    ///< parameter of a type with `...`
  bool used = false;
};
using SymbolRef = std::shared_ptr<Symbol>;

/// Names of one block, function body, index statement or lambda. Lookup continues in outer scopes; from a function it
/// finds only params there, and from a function of the library nothing.
struct Scope {
  enum class Kind : std::uint8_t { kBlock, kFunction, kIndex, kLambda };
  Kind kind = Kind::kBlock;
  Scope* outer = nullptr;
  bool sees_params = true;  ///< of a function
  std::map<std::string, SymbolRef> symbols;
  std::vector<SymbolRef> order;  ///< in order of declaration

  /// The symbol, or null.
  [[nodiscard]] SymbolRef find(const std::string& name) const;
  /// All visible names, for suggestions.
  [[nodiscard]] std::vector<std::string> visible() const;
  void declare(const SymbolRef& symbol);
};

/// A dimension's name and its size.
struct DimensionName {
  ir::Extent extent;
  ir::SourceRange range;
  bool used = false;
};
using Dimensions = std::map<std::string, DimensionName>;

}  // namespace tdsl::frontend
