#include <map>

#include "ir/differentiate/expr.h"
#include "ir/graph/check.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/procedure.h"

namespace tdsl::ir {

namespace {

// Note [Tangents] A procedure is differentiated in forward mode: every float variable x gets a variable dx, its
// derivative with respect to one parameter, computed just before x from the old values. Conditions and bounds are the
// procedure's own, so loops with data-dependent termination are differentiated too; where a condition flips, the
// derivative is that of the branch taken.
class Tangent {
 public:
  Tangent(const Procedure& procedure, std::size_t parameter)
      : of_(procedure), made_(procedure), parameter_(parameter) {}

  Procedure run() {
    made_.name = "d_" + of_.name + "_" + of_.variables[parameter_].name;
    made_.body.clear();
    for (std::size_t k = 0; k < of_.variables.size(); ++k) {
      if (!is_float(of_.variables[k].type)) continue;
      tangents_[static_cast<std::int32_t>(k)] = static_cast<std::int32_t>(made_.variables.size());
      made_.variables.push_back({"d" + of_.variables[k].name, of_.variables[k].type});
    }
    for (std::size_t k = 0; k < of_.parameters; ++k) {
      const Scalar type = of_.variables[k].type;
      if (is_float(type))
        assign(static_cast<std::int32_t>(k), float_constant(type, k == parameter_ ? 1.0 : 0.0), {}, made_.body);
    }
    statements(of_.body, made_.body);
    made_.result = is_float(of_.result->type) ? tangent(of_.result) : float_constant(Scalar::kF64, 0.0);
    made_.text = text_of(made_);
    return std::move(made_);
  }

 private:
  void assign(std::int32_t variable, Expr value, const SourceRange& range, Procedure::Statements& into) {
    into.emplace_back(range, Procedure::Assign{tangents_.at(variable), std::move(value)});
  }

  void statements(const Procedure::Statements& list, Procedure::Statements& into) {
    for (const Procedure::Statement& s : list) {
      match(
          s.op,
          [&](const Procedure::Assign& a) {
            if (is_float(a.value->type)) assign(a.variable, tangent(a.value), s.range, into);
            into.push_back(s);
          },
          [&](const Procedure::Count& c) {
            Procedure::Count loop{c.variable, c.begin, c.end, c.step, {}};
            statements(c.body, loop.body);
            into.push_back({s.range, std::move(loop)});
          },
          [&](const Procedure::Repeat& r) {
            Procedure::Repeat loop{{}, r.condition, {}};
            statements(r.before, loop.before);
            statements(r.body, loop.body);
            into.push_back({s.range, std::move(loop)});
          },
          [&](const Procedure::Branch& b) {
            Procedure::Branch branch{b.condition, {}, {}};
            statements(b.then_part, branch.then_part);
            statements(b.else_part, branch.else_part);
            into.push_back({s.range, std::move(branch)});
          },
          // The procedure itself has been applied before, and has stopped the run if a requirement failed.
          [](const Procedure::Require&) {});
    }
  }

  /// The derivative of `e` with respect to the parameter: the chain rule over its variables.
  [[nodiscard]] Expr tangent(const Expr& e) const {
    // ExprDerivative handles reads of tensors: variable k is represented as the read of value k.
    const Expr reads = rewrite(e, [](const Expr& x) {
      const auto* a = std::get_if<Argument>(&x->op);
      return a == nullptr ? x : read(x->type, ValueId{a->position}, {});
    });
    const auto variables = [](const Expr& x) {
      return rewrite(x, [](const Expr& part) {
        const auto* r = std::get_if<Read>(&part->op);
        return r == nullptr ? part : argument(part->type, r->tensor.id);
      });
    };
    const Expr zero = float_constant(e->type, 0.0);
    Expr sum = zero;
    ExprDerivative derivative([this](ValueId v) { return tangents_.contains(v.id); });
    for (const Partial& p : derivative.partials(reads, float_constant(e->type, 1.0))) {
      const Scalar type = of_.variables[static_cast<std::size_t>(p.read.tensor.id)].type;
      Expr share = product_of(variables(p.value), argument(type, tangents_.at(p.read.tensor.id)));
      if (p.condition) share = select(variables(p.condition), share, float_constant(type, 0.0));
      sum = sum_of(sum, cast(e->type, share));
    }
    return sum;
  }

  const Procedure& of_;
  Procedure made_;
  std::size_t parameter_;
  std::map<std::int32_t, std::int32_t> tangents_;
};

}  // namespace

Procedure tangent_of(const Procedure& procedure, std::size_t parameter) {
  TDSL_CHECK(parameter < procedure.parameters && is_float(procedure.variables[parameter].type),
             "procedures are differentiated by parameters that are floats");
  return Tangent(procedure, parameter).run();
}

}  // namespace tdsl::ir
