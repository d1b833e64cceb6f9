#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/nest/common_parts.h"
#include "codegen/operations/program.h"
#include "ir/graph/procedure.h"

namespace tdsl::codegen {

/// How a loop over `i` with that step goes on: `++i`.
[[nodiscard]] std::string next_text(const std::string& i, std::int64_t step);

/// Prints scalar expressions as C++ with the language's meaning (runtime/kernels/scalar_math.h). Operators are written
/// as operators where C++ means the same.
class ExprEmitter {
 public:
  /// The C++ name of a host value.
  using HostName = std::function<std::string(ValueId)>;
  /// An element of a tensor, given its subscripts as C++ text; only in kernels.
  using ElementText = std::function<std::string(const ir::ExprNode&, const std::vector<std::string>&)>;
  /// The C++ name of the Faults object for operations at a source location: passes combine expressions of several
  /// lines.
  using FaultsName = std::function<std::string(const ir::SourceRange&)>;
  /// The C++ name of a procedure's function.
  using ProcedureName = std::function<std::string(const ir::ProcedureRef&)>;

  ExprEmitter(std::vector<std::string> labels, HostName host, ElementText element, FaultsName faults = nullptr)
      : labels_(std::move(labels)), host_(std::move(host)), element_(std::move(element)), faults_(std::move(faults)) {}

  /// `outer`: precedence of the context (see spelling()); parentheses are added where needed.
  [[nodiscard]] std::string text(const Expr& e, int outer = 0);
  /// An i64 expression as a subscript: plain arithmetic, since subscripts are checked against dimensions.
  [[nodiscard]] std::string subscript(const Expr& e, int outer = 0);
  [[nodiscard]] std::string text(const Extent& e, int outer = 0);
  /// The extent as an `rt::Exact`, or as an integer where nothing is added or multiplied.
  [[nodiscard]] std::string exact(const Extent& e);

  /// Names the operands `$0` and `$1` of a user monoid.
  void set_arguments(std::string left, std::string right);
  /// Names the variables of a procedure.
  void set_arguments(std::vector<std::string> names) { arguments_ = std::move(names); }
  void set_procedures(ProcedureName procedures) { procedures_ = std::move(procedures); }
  /// From now on library functions are those of runtime/kernels/vector_math.h, and selects for which `both` holds
  /// compute both branches.
  void use_vector_math(BothBranches both) { both_branches_ = std::move(both); }
  /// From now on i64 sums, differences and products for which `safe` holds are written with operators: they cannot
  /// overflow.
  void use_operators(std::function<bool(const ir::ExprNode&)> safe) { is_safe_ = std::move(safe); }
  /// From now on `&&` and `||` are written as `&` and `|`, or no longer: both operands are evaluated.
  void avoid_branches(bool avoid) { avoids_branches_ = avoid; }
  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }
  /// Renames an index variable from now on.
  void name_label(int label, std::string name) { labels_[static_cast<std::size_t>(label)] = std::move(name); }
  /// True if anything printed so far reports faults.
  [[nodiscard]] bool reports_faults() const { return reports_faults_; }
  void clear_faults() { reports_faults_ = false; }
  /// True if anything printed so far applies a procedure, which may stop the run.
  [[nodiscard]] bool applies() const { return applies_; }
  /// True if anything printed so far calls a library function.
  [[nodiscard]] bool calls_library() const { return calls_library_; }

 private:
  [[nodiscard]] std::string select(const ir::Select& s, int outer);
  [[nodiscard]] std::string unary(const ir::ExprNode& node, const ir::Unary& u);
  [[nodiscard]] std::string binary(const ir::ExprNode& node, const ir::Binary& b, int outer);
  /// `(x - y) * (x - y)`
  [[nodiscard]] std::string square(const Expr& e, int outer);
  /// The quotient or rest of a division by a constant.
  [[nodiscard]] std::string quotient(const ir::ExprNode& node, const ir::Binary& b, int outer);
  [[nodiscard]] std::string integer_binary(const ir::ExprNode& node, const ir::Binary& b, int outer);
  [[nodiscard]] std::string cast(const ir::ExprNode& node, const ir::Cast& c);
  /// `rt::product_of(8, n, m)` for a product of integers in f64 in host arithmetic; nothing for others.
  [[nodiscard]] std::string product_of_integers(const ir::Binary& b);
  [[nodiscard]] std::string call(std::string_view function, const Expr& a, const Expr& b);
  [[nodiscard]] std::string faulty_call(const ir::ExprNode& node, std::string_view function, const Expr& a,
                                        const Expr& b);
  [[nodiscard]] std::string faults(const ir::SourceRange& place);
  [[nodiscard]] std::string infix(const ir::Binary& b, int outer);
  /// `(x < a) & (x < b) & c`
  [[nodiscard]] std::string bitwise(const ir::Binary& b, int outer);
  [[nodiscard]] std::string atom(const Extent::Atom& atom);
  [[nodiscard]] std::string polynomial(const Extent& e, bool exact, std::size_t& terms);
  [[nodiscard]] std::string read(const ir::ExprNode& node, const ir::Read& r);

  std::vector<std::string> labels_;
  HostName host_;
  ElementText element_;
  FaultsName faults_;
  std::vector<std::string> arguments_ = {"a", "b"};
  ProcedureName procedures_;
  BothBranches both_branches_;
  std::function<bool(const ir::ExprNode&)> is_safe_;
  bool avoids_branches_ = false;
  bool reports_faults_ = false;
  bool applies_ = false;
  bool calls_library_ = false;
};

/// The C++ type of a scalar as emitted: `double`, `Index` for i64.
[[nodiscard]] std::string_view cpp_type(ir::Scalar s);
/// A constant of this type.
[[nodiscard]] std::string cpp_constant(ir::Scalar s, const ir::Literal& value);

}  // namespace tdsl::codegen
