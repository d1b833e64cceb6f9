#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/family_builder.h"

namespace tdsl::codegen {

/// A dimension of something computed: its index variable's name and extent.
struct Axis {
  std::string name;
  Extent extent;
};

/// One operand of a prebuilt kernel: per dimension the number of the output label that subscripts it, or kWhole.
struct KernelOperand {
  static constexpr int kWhole = -1;
  ValueId tensor;
  std::vector<int> labels;
};

/// Writes steps of an algorithm that the compiler itself expands: host arithmetic, element-wise operations, products,
/// prebuilt kernels, loops. Index variables in expressions are `i(0)`, `i(1)`, … in the order of the axes; the reduced
/// one of `product` comes last.
class StepWriter {
 public:
  StepWriter(FamilyBuilder& builder, SourceRange range) : builder_(builder), range_(range) {}

  [[nodiscard]] FamilyBuilder& builder() { return builder_; }
  [[nodiscard]] SourceRange range() const { return range_; }

  // --- Host arithmetic
  /// A host value of its own for what polynomials cannot say.
  Extent number(const std::string& name, const Expr& e);
  Extent smaller(const std::string& name, const Extent& a, const Extent& b);
  Extent quotient(const std::string& name, const Extent& a, const Extent& b);
  Expr expr(const Extent& e);

  // --- Expressions of one element
  [[nodiscard]] static Expr i(int label) { return ir::index_ref(label); }
  /// `tensor[subscripts…]`
  [[nodiscard]] Expr at(ValueId tensor, std::vector<Expr> subscripts) const;
  /// `by + index variable`
  Expr from(const Extent& by, int label);
  [[nodiscard]] Expr zero(ir::Scalar s) const;

  // --- Tensors
  ValueId declare(const std::string& name, ir::Scalar scalar, std::vector<Extent> shape);
  ValueId map(const std::string& name, const std::vector<Axis>& axes, const Expr& body);
  void map_into(ValueId target, const std::vector<Axis>& axes, const Expr& body);
  /// `sum[reduce](body)` over the axes.
  ValueId product(const std::string& name, const std::vector<Axis>& axes, const Axis& reduce, const Expr& body);
  /// The sum over all axes.
  ValueId sum(const std::string& name, const std::vector<Axis>& axes, const Expr& body);
  /// `tensor` with the elements at `left` replaced.
  ValueId replaced(ValueId tensor, const std::vector<Axis>& axes, const std::vector<Expr>& left, const Expr& body);
  /// `tensor` with `sum[reduce](body)` added to the elements at `left`, in place.
  ValueId added_product(ValueId tensor, const std::vector<Axis>& axes, const Axis& reduce, const std::vector<Expr>& left, const Expr& body);
  /// `tensor` with `body` where `guard` holds.
  ValueId replaced_where(ValueId tensor, const std::vector<Axis>& axes, const Expr& guard, const Expr& body);
  /// `target` is another name of `source`.
  void name(ValueId target, ValueId source);
  /// A kernel of the runtime. Output dimensions with `uncut` are never cut. `flops`: per element, times `factor`.
  struct Prebuilt {
    std::string function;  ///< within rt::routines
    std::vector<Axis> axes;
    std::vector<bool> uncut;
    std::vector<KernelOperand> operands;
    std::vector<Extent> arguments;
    bool names_line = false;  ///< it may stop the run
    double flops = 1;
    Extent factor{1};
    std::vector<Extent> tile = {};
  };
  ValueId prebuilt(const std::string& name, ir::Scalar scalar, const Prebuilt& kernel);
  void prebuilt_into(ValueId target, const Prebuilt& kernel);
  /// The same with accesses spelled out, in the operands' order.
  void prebuilt_into(ValueId target, const Prebuilt& kernel, std::vector<AccessTemplate> reads);

  // --- Control
  /// Fills `results`, which do not exist yet, in one of two ways; each is told which tensors to make.
  using Form = std::function<void(const std::vector<ValueId>&)>;
  void either(ValueId condition, const std::vector<ValueId>& results, const Form& form, const Form& other);
  /// `for k in 0..count`, carrying tensors; `body(k, current values)` gives the next ones. Returns the last ones.
  std::vector<ValueId> loop(const Extent& count, const std::vector<ValueId>& inits,
                            const std::function<std::vector<ValueId>(const Extent&, const std::vector<ValueId>&)>& body);

 private:
  ValueId updated(ValueId tensor, ir::Compute compute);
  void lower(ValueId target, ir::Compute compute);
  ValueId host(const std::string& name, const Expr& e);

  FamilyBuilder& builder_;
  SourceRange range_;
};

}  // namespace tdsl::codegen
