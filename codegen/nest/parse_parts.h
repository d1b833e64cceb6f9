#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/nest/nest.h"
#include "ir/text/parse_expr.h"

namespace tdsl::nest {

/// Parses the parts of nests other than blocks.
class PartParser : protected ir::ExprParser {
 protected:
  explicit PartParser(std::string_view text) : ExprParser(text) {}

  static Statement made(decltype(Statement::op) op) { return {std::move(op)}; }

  // --- Parts of statements: parse_parts.cpp
  std::uint32_t number() { return static_cast<std::uint32_t>(cursor_.natural()); }
  ir::SourceRange range();
  Bound bound();
  int index_number();
  std::vector<int> index_numbers();
  ValueId known_value();
  Place place();
  TaskRange task_range();
  /// ` from %4 to %5`, or parts of it.
  TaskRange bounds();
  /// After `over`.
  Walk walk();
  bool more_fibres(Stored& stored);
  Range extents();
  /// After the keyword.
  Let let();
  Expr yield();

  // --- Statements of tasks on whole tensors: parse_task.cpp
  std::optional<Statement> of_task();
  CheckLine check_line();
  RowReduction row_reduction();
  AddProducts add_products();
  int block();
  RowProducts row_products();
  Draw draw();
  RequireSizes sizes();
  SmallRoutine small_routine();

  Nest nest_;
};

}  // namespace tdsl::nest
