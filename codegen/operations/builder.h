#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// Collects the steps of a OperationProgram. Maps every value of the index graph to its variable, and moves values to
/// where they are needed: data scalars to the host by a control read, host scalars into tensors.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const ir::Program& program);

  [[nodiscard]] OperationProgram& program() { return result_; }
  [[nodiscard]] const ir::Type& type(ValueId v) const { return result_.type(v); }
  [[nodiscard]] bool is_host(ValueId v) const { return result_.is_host(v); }
  [[nodiscard]] int new_site() { return new_sites(1); }
  /// The first of `count` sites.
  [[nodiscard]] int new_sites(int count) {
    result_.sites += count;
    return result_.sites - count + 1;
  }
  ValueId new_value(ir::Type type, std::string name, SourceRange range, bool host);
  void warn(std::string id, SourceRange range, std::string message);

  /// Stores `v` in the variable of `representative` from now on.
  void alias(ValueId v, ValueId representative) { alias_[v] = representative; }
  [[nodiscard]] ValueId resolve(ValueId v) const;

  void add(SourceRange range, StepOp op);
  /// The steps that `f` adds, in a separate scope: values it moves to the host are known only there.
  [[nodiscard]] Steps nested(const std::function<void()>& f);

  /// The host value of a scalar; inserts a control read if it is data.
  [[nodiscard]] ValueId on_host(ValueId v, SourceRange range);
  /// The tensor that holds `v`; inserts a rank-0 tensor if it is a host value.
  [[nodiscard]] ValueId as_tensor(ValueId v, SourceRange range);
  /// A host value for a label-free expression (see Hoist).
  [[nodiscard]] std::optional<ValueId> hoist(const Expr& e);
  /// Turns quotients and remainders of a required size into host values, which `hoist` then finds although they may
  /// fail.
  void hoist_quotients(const Extent& size, SourceRange range);
  /// The quotient or remainder represented by a value of `hoist_quotients`; other values are returned unchanged.
  [[nodiscard]] Extent size_behind(ValueId v) const;

  /// The defining expression of a host value that is assigned by exactly one step; else null.
  [[nodiscard]] Expr definition(ValueId v) const;
  void define(ValueId v, Expr value) { definitions_.emplace(v, std::move(value)); }
  /// The defining expression of a data scalar. If it reads a single other data scalar, the host reads that one and
  /// evaluates the expression, with the same bits.
  void define_scalar(ValueId v, Expr value);

  /// Bytes of the tensor if stored densely.
  [[nodiscard]] Extent bytes_of(ValueId tensor, SourceRange range);
  /// The polynomial as an expression over host values.
  [[nodiscard]] Expr expression(const Extent& e, SourceRange range);

  /// Resolves every value; moves data scalars in subscripts to the host.
  [[nodiscard]] Expr rewritten(const Expr& e);
  [[nodiscard]] Extent rewritten(const Extent& e, SourceRange range);
  /// The same for an expression that is itself a subscript.
  [[nodiscard]] Expr rewritten_subscript(const Expr& e) { return in_subscript(rewritten(e)); }

 private:
  [[nodiscard]] Expr in_subscript(const Expr& e);
  [[nodiscard]] ValueId read_on_host(ValueId v, SourceRange range);
  [[nodiscard]] Expr atom_expression(const Extent::Atom& atom, SourceRange range);

  /// Values moved to the other side (host or tensor) within one scope.
  struct Scope {
    std::map<ValueId, ValueId> on_host;
    std::map<ValueId, ValueId> as_tensor;
    std::vector<std::pair<Expr, ValueId>> hoisted;
  };

  OperationProgram result_;
  std::map<ValueId, ValueId> alias_;
  std::vector<Scope> scopes_;
  std::map<ValueId, Expr> definitions_;
  std::map<ValueId, Expr> scalars_;  ///< data scalars that the host computes from another
  std::map<ValueId, Extent> sizes_;  ///< keyed by values of hoist_quotients
  Steps* current_ = nullptr;
};

}  // namespace tdsl::codegen
