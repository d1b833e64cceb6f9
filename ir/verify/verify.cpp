#include "ir/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/analysis/carried.h"
#include "ir/analysis/serial_loop.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "ir/graph/scalar.h"
#include "ir/verify/parts.h"

namespace tdsl::ir {

namespace {

bool same_type(const Type& a, const Type& b) {
  return a.scalar == b.scalar && a.shape == b.shape && a.format == b.format;
}

/// True if two extents can be equal at run time, as far as their difference shows.
bool may_agree(const Extent& a, const Extent& b) { return (a - b).constant().value_or(0) == 0; }

bool may_agree(const std::vector<Extent>& a, const std::vector<Extent>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (!may_agree(a[d], b[d])) return false;
  }
  return true;
}

std::string op_name(const Op& op) {
  return match(
      op, [](const Dimension&) { return "dimension"; }, [](const Found&) { return "found"; },
      [](const Param&) { return "param"; }, [](const Input&) { return "input"; },
      [](const Compute&) { return "compute"; }, [](const Random&) { return "random"; },
      [](const Routine&) { return "routine"; }, [](const Chain&) { return "chain"; },
      [](const Choose&) { return "choose"; }, [](const Fused&) { return "fused"; }, [](const For&) { return "for"; },
      [](const While&) { return "while"; }, [](const If&) { return "if"; }, [](const Print&) { return "print"; },
      [](const Assert&) { return "assert"; }, [](const Check&) { return "check"; },
      [](const Output&) { return "output"; }, [](const Gradient&) { return "gradient"; });
}

class Verifier {
 public:
  Verifier(const Program& program, Gradients gradients)
      : program_(program), gradients_(gradients), defined_(program.values.size(), false) {}

  std::vector<std::string> run() {
    require(program_.body.arguments.empty() && program_.body.yields.empty(), "has arguments or yields");
    region(program_.body);
    if (problems_.empty()) serial_loops();
    return std::move(problems_);
  }

 private:
  /// The text is made only if a rule is broken: programs are verified after each pass.
  template <class... Parts>
  void require(bool good, fmt::format_string<Parts...> text, Parts&&... parts) {
    if (!good) problems_.push_back(place() + ": " + fmt::format(text, std::forward<Parts>(parts)...));
  }
  [[nodiscard]] std::string place() const {
    if (at_ == nullptr) return "the program";
    const std::string result = at_->results.empty() ? "" : fmt::format(" %{}", at_->results[0].id);
    return fmt::format("{}{} at line {}", op_name(at_->op), result, at_->range.line);
  }

  [[nodiscard]] bool known(ValueId v) const {
    return v.valid() && static_cast<std::size_t>(v.id) < program_.values.size();
  }
  [[nodiscard]] bool visible(ValueId v) const {
    return std::ranges::any_of(scopes_, [&](const std::set<ValueId>& s) { return s.contains(v); });
  }
  [[nodiscard]] bool is_scalar(ValueId v, Scalar s) const {
    return known(v) && program_.type(v).rank() == 0 && program_.type(v).scalar == s;
  }

  void use(ValueId v) {
    require(known(v) && visible(v), "uses %{}, which is not defined before it or not in scope", v.id);
  }

  void extent(const Extent& e) {
    for (const ValueId v : e.values()) {
      require(known(v) && program_.type(v).rank() == 0 && is_integer(program_.type(v).scalar),
              "the extent's value %{} is not an integer scalar", v.id);
    }
  }

  void define(ValueId v) {
    if (!known(v)) {
      require(false, "defines the unknown value %{}", v.id);
      return;
    }
    const auto index = static_cast<std::size_t>(v.id);
    require(!defined_[index], "defines %{} a second time", v.id);
    defined_[index] = true;
    const Type& t = program_.type(v);
    require(t.format.levels.size() <= t.rank(), "%{}: the format has too many levels", v.id);
    for (const Extent& e : t.shape) extent(e);
    scopes_.back().insert(v);
  }

  void region(const Region& r) {
    scopes_.emplace_back();
    for (const ValueId v : r.arguments) {
      if (known(v)) {
        for (const Extent& e : program_.type(v).shape) {
          for (const ValueId mentioned : e.values()) use(mentioned);
        }
      }
      define(v);
    }
    const Node* const outer = at_;
    for (const Node& n : r.nodes) node(n);
    at_ = outer;
    for (const ValueId v : r.yields) use(v);
    scopes_.pop_back();
  }

  /// `a` and `b` are lists of values of pairwise equal types.
  void same_types(const std::vector<ValueId>& a, const std::vector<ValueId>& b, std::string_view what) {
    require(a.size() == b.size(), "{} differ in number", what);
    for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
      if (!known(a[k]) || !known(b[k])) continue;
      require(same_type(program_.type(a[k]), program_.type(b[k])), "{}: %{} and %{} differ in type", what, a[k].id,
              b[k].id);
    }
  }

  static std::vector<ValueId> without_first(const std::vector<ValueId>& values) {
    return values.empty() ? values : std::vector<ValueId>(values.begin() + 1, values.end());
  }

  void node(const Node& n) {
    at_ = &n;
    if (!std::ranges::all_of(n.results, [this](ValueId v) { return known(v); })) {
      require(false, "defines an unknown value");
      return;
    }
    for (const ValueId v : operands_of(program_, n)) use(v);
    match(
        n.op, [&](const Dimension&) { one_scalar(n, Scalar::kI64); },
        [&](const Found& d) {
          one_scalar(n, Scalar::kI64);
          extent(d.estimate);
          require(is_scalar(d.count, Scalar::kI64), "the count is not an i64 scalar");
        },
        [&](const Param& p) { param(n, p); }, [&](const Input&) { require(n.results.size() == 1, "needs one result"); },
        [&](const Compute& c) { compute(n, c); }, [&](const Random& r) { random(n, r); },
        [&](const Routine& r) {
          for (const std::string& problem : routine_problems(program_, n, r)) require(false, "{}", problem);
        },
        [&](const Chain& c) { chain(n, c); },
        [&](const For& f) {
          region(f.body);
          for_loop(n, f);
        },
        [&](const While& w) {
          region(w.condition);
          region(w.body);
          while_loop(n, w);
        },
        [&](const If& i) {
          region(i.then_region);
          region(i.else_region);
          branch(n, i);
        },
        [&](const Choose& c) {
          for (const Region& r : c.regions) region(r);
          choose(n, c);
        },
        [&](const Fused& f) {
          region(f.body);
          for (const std::string& problem : fused_problems(program_, n, f)) require(false, "{}", problem);
        },
        [&](const Print&) { no_result(n); },
        [&](const Assert& a) {
          no_result(n);
          require(is_scalar(a.condition, Scalar::kBool), "the condition is not a bool scalar");
        },
        [&](const Check& c) {
          no_result(n);
          extent(c.left);
          extent(c.right);
          require(!c.guard || is_scalar(*c.guard, Scalar::kBool), "the guard is not a bool scalar");
        },
        [&](const Output& o) {
          no_result(n);
          output(o);
        },
        [&](const Gradient& g) { gradient(n, g); });
    carried(n);
    const auto* drawn = std::get_if<Random>(&n.op);
    const bool stores = std::holds_alternative<Input>(n.op) ||
                        (drawn != nullptr && drawn->kind == Random::Kind::kSparse) ||
                        std::holds_alternative<Compute>(n.op) || (!carried_by(n).empty() && !is_marked_serial(n));
    for (const ValueId v : n.results) {
      require(stores || !program_.type(v).is_compressed(), "%{} is compressed, but not made element by element", v.id);
      require(!program_.type(v).is_coded() || (std::holds_alternative<Input>(n.op) && program_.type(v).rank() == 2),
              "%{} is coded, but no matrix from a file", v.id);
      define(v);
    }
  }

  /// Parts of a task are dense.
  void carried(const Node& n) {
    if (!is_marked_serial(n)) return;
    for (const CarriedVariable& variable : carried_by(n)) {
      for (const ValueId v : variable.names)
        require(!known(v) || !program_.type(v).is_compressed(),
                "runs as one task, and carries %{}, which is compressed", v.id);
    }
  }

  void no_result(const Node& n) { require(n.results.empty(), "has a result"); }

  void one_scalar(const Node& n, Scalar s) {
    require(n.results.size() == 1 && is_scalar(n.results[0], s), "needs one {} scalar as result", name_of(s));
  }

  void param(const Node& n, const Param& p) {
    require(n.results.size() == 1 && program_.type(n.results[0]).rank() == 0, "needs one scalar as result");
    if (n.results.size() == 1 && p.computed_default) {
      require(is_scalar(*p.computed_default, program_.type(n.results[0]).scalar),
              "the default is not a scalar of the param's type");
      require(!p.default_value, "has two defaults");
    }
    if (n.results.size() != 1 || !p.default_value) return;
    require(holds(program_.type(n.results[0]).scalar, *p.default_value), "the default is not of the param's type");
  }

  void random(const Node& n, const Random& r) {
    require(n.results.size() == 1 && is_real(program_.type(n.results[0]).scalar), "needs one float tensor as result");
    const bool sparse = r.kind == Random::Kind::kSparse;
    if (sparse) {
      require(!r.iterations.empty() && is_scalar(r.iterations.back(), Scalar::kF64), "has no density");
      require(n.results.size() == 1 && program_.type(n.results[0]).rank() == 2 &&
                  program_.type(n.results[0]).scalar == Scalar::kF64,
              "needs an f64 matrix as result");
    }
    for (std::size_t k = 0; k + (sparse ? 1 : 0) < r.iterations.size(); ++k)
      require(is_scalar(r.iterations[k], Scalar::kI64), "an iteration number is not an i64 scalar");
  }

  /// The body's first argument numbers the iterations; the others are the carried values.
  void same_carried(const Node& n, const std::vector<ValueId>& inits, const Region& body) {
    same_types(inits, without_first(body.arguments), "initial values and carried values");
    same_types(inits, body.yields, "initial values and yields");
    same_types(inits, n.results, "initial values and results");
  }

  void for_loop(const Node& n, const For& f) {
    require(is_scalar(f.begin, Scalar::kI64) && is_scalar(f.end, Scalar::kI64), "the bounds are not i64 scalars");
    require(f.step != 0, "the step is 0");
    require(!f.body.arguments.empty() && is_scalar(f.body.arguments[0], Scalar::kI64),
            "the index is not an i64 scalar");
    same_carried(n, f.inits, f.body);
  }

  void while_loop(const Node& n, const While& w) {
    same_types(w.inits, w.condition.arguments, "initial values and the condition's arguments");
    require(w.condition.yields.size() == 1 && is_scalar(w.condition.yields[0], Scalar::kBool),
            "the condition does not yield one bool scalar");
    require(!w.body.arguments.empty() && is_scalar(w.body.arguments[0], Scalar::kI64),
            "the iteration number is not an i64 scalar");
    same_carried(n, w.inits, w.body);
  }

  void serial_loops() {
    for_each_node(program_.body, [this](const Node& n) {
      if (!is_marked_serial(n)) return;
      const auto reason = why_not_serial(program_, n);
      if (reason && why_not_serial(program_, n, SerialWork::kTensors))
        problems_.push_back("a loop is marked serial, but " + reason->reason);
    });
  }

  void branch(const Node& n, const If& i) {
    require(is_scalar(i.condition, Scalar::kBool), "the condition is not a bool scalar");
    require(i.then_region.arguments.empty() && i.else_region.arguments.empty(), "a branch has arguments");
    same_types(n.results, i.then_region.yields, "results and the first branch's yields");
    same_types(n.results, i.else_region.yields, "results and the second branch's yields");
  }

  void choose(const Node& n, const Choose& c) {
    require(!c.regions.empty(), "has nothing to choose from");
    require(c.names.size() == c.regions.size(), "forms and their names differ in number");
    for (const Region& r : c.regions) {
      require(r.arguments.empty(), "a form has arguments");
      same_types(n.results, r.yields, "results and a form's yields");
      for_each_node(r, [this](const Node& inner) { require(!is_effect(inner), "a form has effects"); });
    }
  }

  void chain(const Node& n, const Chain& c) {
    require(c.factors.size() >= 3, "has less than three factors");
    require(c.sizes.size() == c.factors.size() + 1, "does not have one size more than factors");
    require(n.results.size() == 1 && is_float(program_.type(n.results[0]).scalar), "needs one float tensor as result");
    for (const Extent& e : c.sizes) extent(e);
    if (n.results.size() != 1 || c.factors.size() < 3 || c.sizes.size() != c.factors.size() + 1) return;
    const Type& type = program_.type(n.results[0]);
    const bool vector = type.rank() == 1;
    std::vector<Extent> shape{c.sizes.front()};
    if (!vector) shape.push_back(c.sizes.back());
    require(may_agree(type.shape, shape), "the result's extents are not the first and the last size");
    require(!vector || c.sizes.back() == Extent(1), "the last size of a product with a vector is not 1");
    for (std::size_t k = 0; k < c.factors.size(); ++k) {
      const Chain::Factor& f = c.factors[k];
      if (!known(f.tensor)) continue;
      const Type& factor = program_.type(f.tensor);
      require(factor.scalar == type.scalar && !factor.has_sparse(), "a factor's element type is not the result's");
      const bool last_vector = vector && k + 1 == c.factors.size();
      require(factor.rank() == (last_vector ? 1U : 2U) && !(last_vector && f.transposed), "a factor is no matrix");
    }
  }

  void expression(const Expr& e, const ExprContext& context) {
    std::vector<std::string> found;
    verify_expr(program_, e, context, found);
    for (const std::string& problem : found) require(false, "{}", problem);
  }

  /// `type`: that of the combined values.
  void monoid(const Monoid& m, Scalar type) {
    const bool logical = m.kind == Monoid::Kind::kAny || m.kind == Monoid::Kind::kAll;
    require(!logical || type == Scalar::kBool, "any and all reduce bools");
    require(logical || m.kind == Monoid::Kind::kUser || type != Scalar::kBool, "bools meet in any and all only");
    if (m.kind != Monoid::Kind::kUser) return;
    expression(m.identity, {0, std::nullopt, false});
    expression(m.combine, {0, type, false});
    require(m.identity && m.identity->type == type && m.combine && m.combine->type == type,
            "the reduction's type is not that of its operands");
  }

  void output(const Output& o) {
    if (!o.record) {
      require(scopes_.size() == 1, "stands inside a loop or branch");
      require(outputs_.emplace(o.name, o.begins ? std::optional(o.value) : std::nullopt).second,
              "`{}` is an output already", o.name);
      require(!o.begins || program_.type(o.value).rank() > 0, "a series begins with a tensor of no records");
      return;
    }
    require(is_scalar(*o.record, Scalar::kI64), "the number of a record is not an i64 scalar");
    const auto begun = outputs_.find(o.name);
    if (begun == outputs_.end() || !begun->second) return require(false, "the series `{}` has not begun", o.name);
    const Type& all = program_.type(*begun->second);
    const Type& one = program_.type(o.value);
    require(all.scalar == one.scalar && all.rank() == one.rank() + 1, "a record has the type of its series");
  }

  void gradient(const Node& n, const Gradient& g) {
    require(gradients_ == Gradients::kAllowed, "stands in a program whose derivatives should have been expanded");
    require(known(g.loss) && program_.type(g.loss).rank() == 0 && is_real(program_.type(g.loss).scalar),
            "the loss is not a float scalar");
    for (const ValueId v : g.wrt)
      require(known(v) && is_float(program_.type(v).scalar), "differentiates with respect to a value that is no float");
    same_types(n.results, g.wrt, "derivatives and variables");
  }

  void compute(const Node& n, const Compute& c) {
    const std::size_t labels = c.out.size() + c.reduce.size();
    const ExprContext context{labels, std::nullopt, true};
    for (const auto* list : {&c.out, &c.reduce}) {
      for (const Label& l : *list) {
        extent(l.begin);
        extent(l.end);
      }
    }
    const std::size_t before = problems_.size();
    for (const Expr& body : c.bodies) expression(body, context);
    if (c.guard) expression(c.guard, context);
    for (const Expr& e : c.left) expression(e, {c.out.size(), std::nullopt, true});
    if (c.fill) expression(c.fill, {0, std::nullopt, false});
    require(!c.bodies.empty() && c.bodies.size() == n.results.size(), "bodies and results differ in number");
    require(c.monoid.has_value() == !c.reduce.empty(), "a reduction needs exactly reduce labels and a monoid");
    require(!c.guard || c.guard->type == Scalar::kBool, "the guard is not bool");
    for (const Expr& e : c.left) require(e && e->type == Scalar::kI64, "a left subscript is not i64");
    require(!c.base || n.results.size() == 1, "a node with a base has one result");
    require(!c.in_any_order || is_sum_of_products(c), "a node computed in any order is no sum of products");
    require(!c.by_search || is_count_up_to_value(c), "a node computed by search is no count of elements up to a value");
    if (problems_.size() != before) return;
    for (std::size_t k = 0; k < n.results.size(); ++k) compute_result(c, c.bodies[k], program_.type(n.results[k]));
    if (!c.iteration || problems_.size() != before) return;
    for (const std::string& problem : iteration_problems(program_, n, c)) require(false, "{}", problem);
  }

  /// True for a sum of products of at least three float tensors, whose index variables start at 0.
  static bool is_sum_of_products(const Compute& c) {
    const bool plain = c.left.empty() && !c.base && !c.guard && !c.combine && c.bodies.size() == 1 && c.monoid &&
                       c.monoid->kind == Monoid::Kind::kSum;
    const auto from_zero = [](const Label& l) { return l.begin == Extent(0); };
    return plain && is_float(c.bodies[0]->type) && std::ranges::all_of(c.out, from_zero) &&
           std::ranges::all_of(c.reduce, from_zero) && factors_of(c.bodies[0]).value_or(0) >= 3;
  }
  /// True for `sum[b](i64(le(%1[b], x)))` and `lt`.
  static bool is_count_up_to_value(const Compute& c) {
    const bool plain = c.left.empty() && !c.base && !c.guard && !c.combine && c.bodies.size() == 1 && c.monoid &&
                       c.monoid->kind == Monoid::Kind::kSum && c.reduce.size() == 1 &&
                       c.bodies[0]->type == Scalar::kI64;
    const auto* number = plain ? std::get_if<Cast>(&c.bodies[0]->op) : nullptr;
    const auto* b = number != nullptr ? std::get_if<Binary>(&number->operand->op) : nullptr;
    if (b == nullptr || (b->op != BinaryOp::kLe && b->op != BinaryOp::kLt)) return false;
    const auto* r = std::get_if<Read>(&b->left->op);
    const auto searched = static_cast<std::int32_t>(c.out.size());
    return r != nullptr && r->subscripts.size() == 1 && is_label(r->subscripts[0], searched) &&
           !mentions_label(b->right, searched);
  }
  /// Number of factors; nullopt if it is not a product of tensors.
  static std::optional<int> factors_of(const Expr& e) {
    if (const auto* product = std::get_if<Binary>(&e->op)) {
      const auto left = factors_of(product->left), right = factors_of(product->right);
      return product->op == BinaryOp::kMul && left && right ? std::optional(*left + *right) : std::nullopt;
    }
    const auto* r = std::get_if<Read>(&e->op);
    std::vector<std::int32_t> labels;
    for (std::size_t d = 0; r != nullptr && d < r->subscripts.size(); ++d) {
      const std::int32_t label = bare_label(r->subscripts[d]);
      if (label < 0 || std::ranges::find(labels, label) != labels.end()) return std::nullopt;
      labels.push_back(label);
    }
    return labels.empty() ? std::nullopt : std::optional(1);
  }

  void compute_result(const Compute& c, const Expr& body, const Type& type) {
    const bool position = c.monoid && locates(*c.monoid);
    if (position) require(c.reduce.size() == 1, "argmin and argmax take one reduce label");
    if (c.monoid && !position) monoid(*c.monoid, body->type);
    require(type.scalar == (position ? Scalar::kI64 : body->type), "the result's element type is not the body's");
    if (c.combine) {
      const bool bad = locates(*c.combine);
      require(!bad, "elements cannot be combined by argmin or argmax");
      if (!bad) monoid(*c.combine, type.scalar);
    }
    require(!c.fill || (c.fill->type == type.scalar && std::holds_alternative<Constant>(c.fill->op)),
            "fill is not a constant of the result's type");
    if (c.left.empty()) {
      require(type.rank() == c.out.size(), "the result's rank is not the number of out labels");
      std::vector<Extent> extents;
      for (const Label& l : c.out) extents.push_back(l.end - l.begin);
      require(type.rank() != c.out.size() || may_agree(type.shape, extents),
              "the result's extents are not those of the out labels");
    } else {
      require(type.rank() == c.left.size(), "the result's rank is not the number of left subscripts");
    }
    if (c.base && known(*c.base)) {
      const Type& base = program_.type(*c.base);
      require(base.scalar == type.scalar && may_agree(base.shape, type.shape), "base and result differ in type");
    }
  }

  const Program& program_;
  Gradients gradients_;
  std::vector<bool> defined_;
  std::vector<std::set<ValueId>> scopes_;
  std::map<std::string, std::optional<ValueId>> outputs_;  ///< a series: the value with which it begins
  std::vector<std::string> problems_;
  const Node* at_ = nullptr;
};

}  // namespace

std::vector<std::string> verify(const Program& program, Gradients gradients) {
  return Verifier(program, gradients).run();
}

}  // namespace tdsl::ir
