#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/algebra/expr.h"
#include "ir/text/cursor.h"

namespace tdsl::ir::algebra {

/// Parses the parts of an operator in the text form: positions, kernels, layouts, integers over key values.
class PartParser {
 protected:
  explicit PartParser(std::string_view text) : cursor_(text) {}

  /// A position or a count that fits an int.
  int small();
  /// `[2, 3]`, without negative numbers.
  std::vector<Index> extents();
  Dims dims();
  double number();
  Kernel kernel();
  /// `relu then scale(2)` after `word`, or nothing.
  Kernels kernels(std::string_view word);
  /// The layout at the cursor, if any.
  std::optional<Layout> layout();
  /// With `arity`, `t` is the value after that many key values.
  KeyFunction key_function(std::optional<std::size_t> arity = {});
  Predicate predicate(std::optional<std::size_t> arity = {});
  /// A predicate after `where`, or one that always holds.
  Predicate where(std::optional<std::size_t> arity = {});

  TextCursor cursor_;

 private:
  std::vector<int> axes(int count);
};

}  // namespace tdsl::ir::algebra
