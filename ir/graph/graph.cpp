#include "ir/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "ir/graph/check.h"
#include "ir/graph/clone.h"

namespace tdsl::ir {

namespace {

/// The largest (sign 1) or smallest (sign -1) value of a type.
Literal limit_of(Scalar s, int sign) {
  switch (s) {
    case Scalar::kBool: return sign > 0;
    case Scalar::kI32: {
      using Limits = std::numeric_limits<std::int32_t>;
      return std::int64_t{sign > 0 ? Limits::max() : Limits::min()};
    }
    case Scalar::kI64: {
      using Limits = std::numeric_limits<std::int64_t>;
      return sign > 0 ? Limits::max() : Limits::min();
    }
    case Scalar::kF32:
    case Scalar::kF64: return sign * std::numeric_limits<double>::infinity();
  }
  TDSL_CHECK(false, "unknown scalar type");
  return false;
}

/// 0 or 1 as an element of type `s`.
Expr small_constant(Scalar s, int value) {
  if (s == Scalar::kBool) return constant(s, value != 0);
  if (is_float(s)) return constant(s, static_cast<double>(value));
  return constant(s, std::int64_t{value});
}

/// Collects values in order of first occurrence.
class Mentions {
 public:
  void add(ValueId v) {
    if (seen_.insert(v).second) list_.push_back(v);
  }
  void add(const std::vector<ValueId>& values) {
    for (const ValueId v : values) add(v);
  }
  void add(const Extent& e) { add(e.values()); }
  void add(const Expr& e) {
    if (!e) return;
    for_each_node(e, [this](const ExprNode& node) {
      if (const auto* r = std::get_if<Read>(&node.op)) add(r->tensor);
    });
  }
  void add(const std::optional<Monoid>& m) {
    if (!m) return;
    add(m->identity);
    add(m->combine);
  }
  void add(const std::vector<Label>& labels) {
    for (const Label& label : labels) {
      add(label.begin);
      add(label.end);
    }
  }
  void add(const Compute& c) {
    add(c.out);
    add(c.reduce);
    for (const Expr& body : c.bodies) add(body);
    add(c.guard);
    add(c.monoid);
    for (const Expr& subscript : c.left) add(subscript);
    if (c.base) add(*c.base);
    add(c.combine);
    add(c.fill);
  }
  [[nodiscard]] std::vector<ValueId> take() { return std::move(list_); }

 private:
  std::set<ValueId> seen_;
  std::vector<ValueId> list_;
};

}  // namespace

bool equal(const Monoid& a, const Monoid& b) {
  if (a.kind != b.kind) return false;
  if (a.kind != Monoid::Kind::kUser) return true;
  return a.name == b.name && equal(a.identity, b.identity) && equal(a.combine, b.combine);
}

Expr identity_of(const Monoid& m, Scalar s) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return small_constant(s, 0);
    case Monoid::Kind::kProd: return small_constant(s, 1);
    case Monoid::Kind::kMin: return constant(s, limit_of(s, 1));
    case Monoid::Kind::kMax: return constant(s, limit_of(s, -1));
    case Monoid::Kind::kAny: return constant(Scalar::kBool, false);
    case Monoid::Kind::kAll: return constant(Scalar::kBool, true);
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax: return constant_i64(-1);
    case Monoid::Kind::kUser: return m.identity;
  }
  TDSL_CHECK(false, "unknown monoid");
  return {};
}

std::string_view name_of(Monoid::Kind kind) {
  switch (kind) {
    case Monoid::Kind::kSum: return "sum";
    case Monoid::Kind::kProd: return "prod";
    case Monoid::Kind::kMin: return "min";
    case Monoid::Kind::kMax: return "max";
    case Monoid::Kind::kAny: return "any";
    case Monoid::Kind::kAll: return "all";
    case Monoid::Kind::kArgMin: return "argmin";
    case Monoid::Kind::kArgMax: return "argmax";
    case Monoid::Kind::kUser: return "user";
  }
  TDSL_CHECK(false, "unknown monoid");
  return "";
}

std::string_view name_of(Random::Kind kind) {
  switch (kind) {
    case Random::Kind::kUniform: return "uniform";
    case Random::Kind::kNormal: return "normal";
    case Random::Kind::kSparse: return "sparse_uniform";
  }
  return "";
}

std::string_view name_of(Routine::Kind kind) {
  switch (kind) {
    case Routine::Kind::kCumsum: return "cumsum";
    case Routine::Kind::kSort: return "sort";
    case Routine::Kind::kArgsort: return "argsort";
    case Routine::Kind::kTopk: return "topk";
    case Routine::Kind::kSolve: return "solve";
    case Routine::Kind::kCholesky: return "cholesky";
    case Routine::Kind::kLu: return "lu";
    case Routine::Kind::kQr: return "qr";
    case Routine::Kind::kSvd: return "svd";
    case Routine::Kind::kEigh: return "eigh";
    case Routine::Kind::kInv: return "inv";
    case Routine::Kind::kDet: return "det";
    case Routine::Kind::kLstsq: return "lstsq";
    case Routine::Kind::kForeign: return "foreign";
  }
  TDSL_CHECK(false, "unknown routine");
  return "";
}

bool is_line(Routine::Kind kind) { return kind <= Routine::Kind::kTopk; }

ValueId Program::new_value(Type type, std::string value_name, SourceRange range) {
  values.push_back({std::move(type), std::move(value_name), range});
  return {static_cast<std::int32_t>(values.size() - 1)};
}

std::optional<std::string> default_text(const Param& p) {
  if (p.computed_default) return p.default_text;
  if (!p.default_value) return std::nullopt;
  return match(
      *p.default_value, [](bool b) { return std::string(b ? "true" : "false"); },
      [](std::int64_t i) { return fmt::format("{}", i); }, [](double d) { return fmt::format("{}", d); });
}

bool known_at_start(const Program& program, ValueId v) {
  std::set<ValueId> known;
  for (const Node& node : program.body.nodes) {
    const auto* compute = std::get_if<Compute>(&node.op);
    const bool scalar = compute != nullptr && compute->out.empty() && compute->reduce.empty() && compute->left.empty();
    if (!scalar && !std::holds_alternative<Dimension>(node.op) && !std::holds_alternative<Param>(node.op)) continue;
    if (std::ranges::all_of(operands_of(program, node), [&](ValueId operand) { return known.contains(operand); }))
      known.insert(node.results.begin(), node.results.end());
  }
  return known.contains(v);
}

void for_each_node(const Region& region, const std::function<void(const Node&)>& f) {
  for (const Node& node : region.nodes) {
    f(node);
    for (const Region* inner : regions_in(node)) for_each_node(*inner, f);
  }
}

std::vector<ValueId> operands_of(const Program& program, const Node& node) {
  Mentions mentions;
  match(
      node.op, [](const Dimension&) {},
      [&](const Param& p) {
        if (p.computed_default) mentions.add(*p.computed_default);
      },
      [](const Input&) {}, [&](const Compute& c) { mentions.add(c); },
      [&](const Random& r) { mentions.add(r.iterations); }, [&](const Routine& r) { mentions.add(r.operands); },
      [&](const Chain& c) {
        for (const Chain::Factor& f : c.factors) mentions.add(f.tensor);
        for (const Extent& e : c.sizes) mentions.add(e);
      },
      [&](const For& f) {
        mentions.add(f.begin);
        mentions.add(f.end);
        mentions.add(f.inits);
      },
      [&](const While& w) { mentions.add(w.inits); }, [&](const If& i) { mentions.add(i.condition); },
      [](const Choose&) {}, [&](const Fused& f) { mentions.add(f.shared); },
      [&](const Print& p) {
        for (const auto& item : p.items) {
          if (const auto* v = std::get_if<ValueId>(&item)) mentions.add(*v);
        }
      },
      [&](const Assert& a) { mentions.add(a.condition); },
      [&](const Check& c) {
        mentions.add(c.left);
        mentions.add(c.right);
        if (c.guard) mentions.add(*c.guard);
      },
      [&](const Output& o) { mentions.add(o.value); },
      [&](const Gradient& g) {
        mentions.add(g.loss);
        mentions.add(g.wrt);
      });
  for (const ValueId result : node.results) {
    for (const Extent& extent : program.type(result).shape) mentions.add(extent);
    for (const Extent& edge : program.info(result).tile) mentions.add(edge);
  }
  return mentions.take();
}

}  // namespace tdsl::ir
