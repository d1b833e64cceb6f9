#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ir/eval/elements.h"
#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// Stops the evaluation with a run-time error of the program.
struct Stop {
  EvalError error;
};
[[noreturn]] void stop(const SourceRange& range, const std::string& message);

/// Returns the array of a value that is defined at this point.
using ValueSource = std::function<const Array&(ValueId)>;

class CompiledProcedure;

/// An expression prepared for evaluation at many points: a flat list of nodes with resolved tensors, interpreted by a
/// switch. The arrays it reads must not move while it is used.
class CompiledExpr {
 public:
  /// `place`: the source range of errors in nodes without one.
  CompiledExpr(const Program& program, const Expr& e, const ValueSource& values, const SourceRange& place);

  /// True if the result is a float (else an integer or bool).
  [[nodiscard]] bool is_real() const { return is_float(nodes_[root_].type); }
  [[nodiscard]] Scalar type() const { return nodes_[root_].type; }
  /// True if no evaluation can give a negative value, whatever its rounding.
  [[nodiscard]] bool nonnegative() const { return nodes_[root_].nonnegative; }
  /// The value at the point with these label values. Throws Stop.
  [[nodiscard]] Real real(const std::int64_t* labels) { return labels_ = labels, real_at(root_); }
  [[nodiscard]] Whole whole(const std::int64_t* labels) { return labels_ = labels, whole_at(root_); }
  [[nodiscard]] Slot value(const std::int64_t* labels) { return labels_ = labels, slot_at(root_); }
  /// Sets the arguments for subsequent evaluations.
  void set_arguments(const Slot* arguments) { arguments_ = arguments; }
  /// A user monoid's combination, with `$0` = a and `$1` = b.
  [[nodiscard]] Slot combine(const Slot& a, const Slot& b);

 private:
  enum class Code : std::uint8_t { kConstant, kIndex, kRead, kArgument, kUnary, kBinary, kSelect, kCast, kApply };
  struct Step {
    Code code = Code::kConstant;
    Scalar type = Scalar::kF64;
    std::uint8_t op = 0;
    bool nonnegative = false;  ///< for any rounding
    std::int32_t label = 0;    ///< or the argument's position
    double real = 0;
    std::int64_t whole = 0;
    std::size_t operands[3] = {0, 0, 0};
    const Array* array = nullptr;
    std::vector<std::size_t> subscripts;  ///< or the arguments of a procedure
    std::shared_ptr<CompiledProcedure> procedure;
    SourceRange range;
    std::string name;  ///< of the tensor, for messages
  };

  std::size_t compile(const Program& program, const Expr& e, const ValueSource& values);
  void compile_read(const Program& program, const Read& r, const ValueSource& values, Step& step);
  void find_properties(const ExprNode& node, Step& step) const;

  [[nodiscard]] Real real_at(std::size_t index);
  [[nodiscard]] Whole whole_at(std::size_t index);
  [[nodiscard]] Slot slot_at(std::size_t index) {
    return is_float(nodes_[index].type) ? Slot{real_at(index), {}} : Slot{{}, whole_at(index)};
  }
  [[nodiscard]] Real real_unary(const Step& s);
  [[nodiscard]] Real real_binary(const Step& s);
  [[nodiscard]] Real keyed(const Step& s);
  [[nodiscard]] Real real_cast(const Step& s);
  [[nodiscard]] Whole whole_unary(const Step& s);
  [[nodiscard]] Whole whole_binary(const Step& s);
  [[nodiscard]] Whole whole_cast(const Step& s);
  [[nodiscard]] Whole comparison(const Step& s);
  [[nodiscard]] Whole logical(const Step& s);
  [[nodiscard]] Slot applied(const Step& s);
  /// The position of the element to read; `bound` is open if a subscript is.
  [[nodiscard]] std::int64_t locate(const Step& s, double& bound);

  std::vector<Step> nodes_;
  std::size_t root_ = 0;
  const std::int64_t* labels_ = nullptr;
  const Slot* arguments_ = nullptr;
  Slot combined_[2];
};

/// Checks 0 <= subscript < extent; otherwise stops with a message that names both and the dimension.
void check_subscript(std::int64_t subscript, std::int64_t extent, std::size_t dimension, const std::string& tensor,
                     const SourceRange& range);

/// The value of an expression without tensors, labels and arguments, as a constant; nothing for others, and for complex
/// numbers with an imaginary part. Throws Stop.
[[nodiscard]] std::optional<Literal> value_of_constant(const Program& program, const Expr& e, const SourceRange& place);

}  // namespace tdsl::ir::eval
