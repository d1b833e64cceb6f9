#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/procedure.h"
#include "ir/text/cursor.h"

namespace tdsl::ir {

/// Parses the output of text_of(const Foreign&).
[[nodiscard]] ForeignRef parse_foreign(TextCursor& cursor);

/// Parses the parts of a node in the text form: values, types, extents, expressions. Nodes are built exactly as
/// written, without folding.
class ExprParser {
 protected:
  explicit ExprParser(std::string_view text) : cursor_(text) {}

  template <class F>
  void list(std::string_view open, std::string_view close, const F& item) {
    cursor_.expect(open);
    if (cursor_.accept(close)) return;
    do { item(); } while (cursor_.accept(","));
    cursor_.expect(close);
  }

  ValueId value();
  std::vector<ValueId> value_list(std::string_view open, std::string_view close);
  Extent extent_factor();
  /// Up to 2^63, whose negation is the smallest i64.
  std::int64_t magnitude();
  Extent extent_term();
  Extent extent();
  Type type();
  Expr typed_literal();
  Expr element();
  std::vector<Expr> expr_list(std::string_view open, std::string_view close);
  Expr label_named(const std::string& name);
  Expr call(const std::string& name);
  Expr expr();
  /// Parses the output of `text_of` for a procedure.
  Expr application();
  Procedure::Statements statements();
  Procedure::Statement statement();
  std::int32_t variable();
  Monoid monoid();
  std::vector<Label> label_list();

  TextCursor cursor_;
  Program program_;                  ///< the part parsed so far
  std::vector<std::string> labels_;  ///< index variables of the current node
};

}  // namespace tdsl::ir
