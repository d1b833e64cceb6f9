#pragma once

#include <map>
#include <optional>

#include "codegen/operations/program.h"
#include "ir/eval/eval.h"

namespace tdsl::codegen {

/// The host values of a OperationProgram as numbers. Data-dependent values are unknown.
class HostEvaluator {
 public:
  explicit HostEvaluator(const OperationProgram& program);

  void set(ValueId v, const ir::Literal& value);
  void set_unknown(ValueId v) { known_.erase(v); }
  [[nodiscard]] std::optional<ir::Literal> get(ValueId v) const;
  /// The value of a host expression; nothing if any operand is unknown. Throws rt::RunError if evaluation fails.
  [[nodiscard]] std::optional<ir::Literal> evaluate(const Expr& e, SourceRange place) const;
  /// Throws std::domain_error for a division by 0.
  [[nodiscard]] std::optional<std::int64_t> evaluate(const Extent& e) const;
  [[nodiscard]] std::optional<rt::Exact> evaluate_exactly(const Extent& e) const;

 private:
  [[nodiscard]] bool knows(const Extent& e) const;
  ir::Program types_;  ///< values only, for evaluating expressions
  std::map<ValueId, ir::Array> known_;
};

}  // namespace tdsl::codegen
