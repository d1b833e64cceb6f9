#include "codegen/nest/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "codegen/nest/facts.h"
#include "codegen/nest/text.h"
#include "codegen/nest/verify_stored.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/verify/parts.h"

namespace tdsl::nest {

using ir::match;
using ir::Scalar;
using Role = Variable::Role;

namespace {

class Verifier {
 public:
  explicit Verifier(const Nest& nest) : nest_(nest), values_(values_of(nest)) {}

  std::vector<std::string> run() {
    variables();
    for (const Statement& s : nest_.fresh) {
      if (!std::holds_alternative<Fill>(s.op)) problem("what runs first in a tile only fills");
    }
    for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
      if (nest_.variables[k].role != Role::kParameter) continue;
      defined_.insert({static_cast<std::int32_t>(k)});
      changing_.insert({static_cast<std::int32_t>(k)});
    }
    body(nest_.fresh);
    body(nest_.body);
    returns();
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  // --- Declarations

  void variables() {
    for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
      const Variable& v = nest_.variables[k];
      const bool tensor = v.role == Role::kOperand || v.role == Role::kResult || v.role == Role::kView ||
                          (v.role == Role::kLocal && (nest_.form == Form::kTask || nest_.form == Form::kRows));
      const bool scalar = !tensor;
      if (v.role == Role::kView && !is_shown(v)) problem("%{} is a view of no tensor of its type", k);
      if (v.role == Role::kPosition && v.type.scalar != Scalar::kI64) problem("a position is an integer");
      if (v.role == (nest_.form == Form::kFunction ? Role::kCapture : Role::kParameter))
        problem("%{} is {}", k,
                v.role == Role::kParameter ? "a parameter, and the nest no function"
                                           : "taken by a function, and no parameter");
      if (scalar && v.type.rank() != 0) problem("%{} is a scalar", k);
      for (const Extent& e : v.type.shape) extent(e);
      for (const Extent& e : v.origin) extent(e);
      if (v.place) extent(*v.place);
      if (v.place && (v.role != Role::kResult || nest_.form != Form::kRows)) problem("%{} is no part of a result", k);
      for (const Bound& b : v.bounds) {
        extent(b.extent);
        if ((v.role != Role::kOperand && v.role != Role::kView) || b.dimension < 0 ||
            b.dimension >= static_cast<int>(v.type.rank()))
          problem("%{} has no dimension {} to be checked", k, b.dimension);
      }
      if (!v.origin.empty() && (v.role != Role::kResult || v.origin.size() != v.type.rank()))
        problem("the origin of %{} has its rank", k);
    }
    for (const Index& i : nest_.indices) {
      extent(i.begin);
      extent(i.end);
      if (i.block < 0 ? i.whole && nest_.form != Form::kRows
                      : nest_.form != Form::kRows || i.block >= static_cast<int>(nest_.indices.size()))
        problem("index {} has no block", i.name);
    }
    const auto results = std::ranges::count(nest_.variables, Role::kResult, &Variable::role);
    const auto operands = std::ranges::count(nest_.variables, Role::kOperand, &Variable::role);
    if (nest_.form == Form::kKernel && results != 1) problem("a nest has one result");
    if (nest_.form == Form::kFunction && (results + operands != 0 || !nest_.indices.empty() || !nest_.fresh.empty()))
      problem("a function is one of scalars");
  }

  [[nodiscard]] bool is_shown(const Variable& view) const {
    if (!view.of || !exists(*view.of)) return false;
    const Variable& v = nest_.variable(*view.of);
    return v.role != Role::kView && v.type.scalar == view.type.scalar && v.type.rank() == view.type.rank() &&
           v.type.rank() > 0;
  }

  /// A function ends with a return.
  void returns() {
    int count = 0;
    for_each_statement(nest_.body, [&](const Statement& s) { count += std::holds_alternative<Return>(s.op) ? 1 : 0; });
    const bool last = !nest_.body.empty() && std::holds_alternative<Return>(nest_.body.back().op);
    if (count != (nest_.form == Form::kFunction ? 1 : 0) || last != (nest_.form == Form::kFunction))
      problem("a function returns once, at its end, and nothing else returns");
  }

  /// Sizes consist of parameters and, in tasks on whole tensors, of integers.
  void extent(const Extent& e) {
    for (const ValueId v : e.values()) {
      if (nest_.form == Form::kTask && exists(v) && nest_.variable(v).type.rank() == 0 &&
          nest_.variable(v).type.scalar == Scalar::kI64)
        continue;
      if (!has_role(v, Role::kCapture) || nest_.variable(v).type.scalar != Scalar::kI64)
        problem("a size mentions %{}, which is no integer that the nest takes", v.id);
    }
  }

  [[nodiscard]] bool exists(ValueId v) const {
    return v.valid() && static_cast<std::size_t>(v.id) < nest_.variables.size();
  }
  [[nodiscard]] bool has_role(ValueId v, Role role) const { return exists(v) && nest_.variable(v).role == role; }
  [[nodiscard]] Scalar type(ValueId v) const { return nest_.variable(v).type.scalar; }

  // --- Expressions

  /// Checks that the expression has that type and that its parts are in scope.
  void expr(const Expr& e, std::optional<Scalar> wanted) {
    if (!e) return problem("an expression is missing");
    const std::size_t before = problems_.size();
    ir::verify_expr(values_, e, {nest_.indices.size(), std::nullopt}, problems_);
    if (problems_.size() != before) return;
    ir::for_each_node(e, [this](const ir::ExprNode& n) {
      if (const auto* r = std::get_if<ir::IndexRef>(&n.op); r != nullptr && !indices_.contains(r->label))
        problem("index {} is used outside of its loop", nest_.index(r->label).name);
      if (const auto* r = std::get_if<ir::Read>(&n.op)) read(r->tensor);
    });
    if (wanted && e->type != *wanted)
      problem("an expression of type {} stands where {} is needed", ir::name_of(e->type), ir::name_of(*wanted));
  }
  void read(ValueId v) {
    const Variable& variable = nest_.variable(nest_.viewed(v));
    if (variable.role == Role::kResult && (nest_.form != Form::kTask || variable.type.rank() == 0))
      problem("the result %{} is read", v.id);
    const bool local = variable.role == Role::kPosition || (variable.role == Role::kLocal && variable.type.rank() == 0);
    if (local && !defined_.contains(v)) problem("%{} is read before it is defined", v.id);
    sized(nest_.viewed(v));
  }
  /// A resized tensor has extents from here on.
  void sized(ValueId v) {
    if (exists(v) && nest_.variable(v).resized && !sized_.contains(v)) problem("%{} has no extents yet", v.id);
  }
  /// An extent at the current statement.
  void extent_here(const Extent& e) {
    extent(e);
    for (const ValueId v : e.values()) {
      if (exists(v)) read(v);
    }
  }
  void extents(const Range& r) {
    extent_here(r.begin);
    extent_here(r.end);
  }
  /// True if it is a task's tensor that statements modify.
  [[nodiscard]] bool changes(ValueId v) const {
    if (!exists(v)) return false;
    const Variable& variable = nest_.variable(nest_.viewed(v));
    return (nest_.form == Form::kTask || nest_.form == Form::kRows) &&
           (variable.role == Role::kResult || variable.role == Role::kLocal) && variable.type.rank() > 0;
  }
  [[nodiscard]] bool is_tensor(ValueId v) const { return exists(v) && nest_.variable(v).type.rank() > 0; }

  /// Defines a local for the rest of the block.
  void define(ValueId v, Scalar wanted) {
    if (!has_role(v, Role::kLocal)) return problem("%{} is no local", v.id);
    if (type(v) != wanted) problem("%{} is {}, not {}", v.id, ir::name_of(type(v)), ir::name_of(wanted));
    if (!ever_defined_.insert(v).second) problem("%{} is defined twice", v.id);
    defined_.insert(v);
  }
  void let(const Let& l) {
    expr(l.value, std::nullopt);
    if (l.value) define(l.local, l.value->type);
  }

  /// The type of the element or local.
  std::optional<Scalar> place(const Place& p, bool needs_value) {
    const bool result = has_role(p.variable, Role::kResult) || changes(p.variable);
    if (!result && !(changing_.contains(p.variable) && defined_.contains(p.variable))) {
      problem("%{} cannot be written", p.variable.id);
      return std::nullopt;
    }
    if (p.subscripts.size() != nest_.variable(p.variable).type.rank())
      problem("%{} has rank {}", p.variable.id, nest_.variable(p.variable).type.rank());
    for (const Expr& s : p.subscripts) expr(s, Scalar::kI64);
    if (result) sized(nest_.viewed(p.variable));
    const bool absent = nest_.variable(p.variable).type.is_compressed();  // initially 0
    if (result && needs_value && !absent && nest_.form != Form::kTask && !nest_.variable(p.variable).continued &&
        !filled_.contains(p.variable))
      problem("%{} is updated, and has no first values", p.variable.id);
    return type(p.variable);
  }

  // --- Statements

  void index(int k, bool of_task) {
    if (k < 0 || k >= static_cast<int>(nest_.indices.size())) return problem("there is no index {}", k);
    if (of_task && !nest_.index(k).of_task) problem("the task has no interval of {}", nest_.index(k).name);
    if (indices_.contains(k)) problem("index {} runs already", nest_.index(k).name);
    if (nest_.index(k).block >= 0) block(nest_.index(k).block);
  }
  void block(int k) {
    if (!blocks_.contains(k)) problem("there is no block of index {} here", k);
  }
  void range(const TaskRange& r) {
    for (const std::optional<ValueId>& v : {r.begin, r.end}) {
      if (v && !(has_role(*v, Role::kLocal) && defined_.contains(*v) && type(*v) == Scalar::kI64))
        problem("a loop is bounded by %{}, which is no integer local", v->id);
    }
  }

  /// Definitions are scoped to their block.
  void body(const Body& statements) {
    const std::set<int> indices = indices_;
    const std::set<ValueId> defined = defined_;
    for (const Statement& s : statements) statement(s);
    indices_ = indices;
    defined_ = defined;
  }
  void inside(int k, const Body& statements) {
    indices_.insert(k);
    body(statements);
    indices_.erase(k);
  }

  void statement(const Statement& s) {
    match(
        s.op, [&](const For& f) { loop(f); }, [&](const Let& l) { let(l); }, [&](const Start& l) { start(l); },
        [&](const Narrow& n) { narrow(n); },
        [&](const Check& c) {
          index(c.index, false);
          expr(c.value, Scalar::kI64);
          extent(c.bound.extent);
          indices_.insert(c.index);
        },
        [&](const Store& w) { expr(w.value, place(w.to, false)); },
        [&](const Update& u) { expr(u.value, place(u.to, true)); }, [&](const If& i) { branch(i); },
        [&](const LineReduction& l) { line(l); }, [&](const BlockedReduction& b) { blocked(b); },
        [&](const Fill& f) {
          if (!has_role(f.result, Role::kResult) && !changes(f.result))
            return problem("%{} is filled, and is no result", f.result.id);
          expr(f.value, type(f.result));
          filled_.insert(f.result);
        },
        [&](const Var& v) {
          if (v.value) expr(v.value, std::nullopt);
          if (exists(v.local)) define(v.local, v.value ? v.value->type : type(v.local));
          changing_.insert(v.local);
        },
        [&](const Count& c) { count(c); },
        [&](const While& w) {
          // Definitions of the first block are visible in the condition and the second block.
          const std::set<ValueId> defined = defined_;
          for (const Statement& before : w.before) statement(before);
          expr(w.condition, Scalar::kBool);
          body(w.body);
          defined_ = defined;
        },
        [&](const Require& r) { expr(r.condition, Scalar::kBool); },
        [&](const Return& r) { expr(r.value, std::nullopt); }, [&](const Copy& c) { copy(c.from, c.to); },
        [&](const Keep& k) { copy(k.from, k.local); },
        [&](const Resize& r) {
          if (!changes(r.local) || !nest_.variable(r.local).resized)
            return problem("%{} cannot be resized", r.local.id);
          for (const Extent& e : nest_.variable(r.local).type.shape) extent_here(e);
          sized_.insert(r.local);
        },
        [&](const CheckLine& c) {
          extent_here(c.first);
          extent_here(c.count);
          if (!is_tensor(c.tensor) || c.bound.dimension < 0 ||
              c.bound.dimension >= static_cast<int>(nest_.variable(c.tensor).type.rank()))
            problem("%{} has no dimension {} to be checked", c.tensor.id, c.bound.dimension);
        },
        [&](const RowReduction& r) { row(r); }, [&](const AddProducts& p) { products(p); },
        [&](const Locate& l) {
          if (!has_role(l.local, Role::kPosition)) return problem("%{} is no position", l.local.id);
          located_[l.local] = l.of;
          defined_.insert(l.local);
        },
        [&](const Offer& o) {
          if (!has_role(o.local, Role::kPosition) || !defined_.contains(o.local))
            return problem("%{} is no position", o.local.id);
          expr(o.value, located_[o.local]);
          expr(ir::index_ref(o.index), Scalar::kI64);
        },
        [&](const Draw& d) {
          for (const Expr& e : d.iterations) expr(e, Scalar::kI64);
          if (exists(d.local)) define(d.local, ir::is_float(type(d.local)) ? type(d.local) : Scalar::kF64);
        },
        [&](const RequireSizes& r) {
          extent_here(r.left);
          extent_here(r.right);
          if (r.guard) expr(r.guard, Scalar::kBool);
        },
        [&](const RowProducts& p) { row_products(p); },
        [&](const FillRows& f) {
          block(f.block);
          if (!changes(f.to.variable)) return problem("%{} is filled, and is no tensor of rows", f.to.variable.id);
          part(f.to, 1, type(f.to.variable));
          expr(f.value, type(f.to.variable));
          filled_.insert(f.to.variable);
        });
  }

  void copy(ValueId from, ValueId to) {
    if (!is_tensor(from) || !changes(to) || type(from) != type(to) ||
        nest_.variable(from).type.rank() != nest_.variable(to).type.rank())
      problem("%{} cannot be copied to %{}", from.id, to.id);
  }

  /// A statement that contains its own loops over these indices.
  template <class F>
  void loops(std::initializer_list<std::pair<int, const Range*>> list, const F& f) {
    for (const auto& [k, over] : list) {
      index(k, false);
      extents(*over);
    }
    for (const auto& [k, over] : list) indices_.insert(k);
    f();
    for (const auto& [k, over] : list) indices_.erase(k);
  }

  void row(const RowReduction& r) {
    using Kind = ir::Monoid::Kind;
    std::optional<Scalar> scalar = place({r.local, {}}, true);
    if (ir::locates({r.kind, {}, {}, {}}) && scalar == Scalar::kI64) scalar = std::nullopt;
    const std::set<ValueId> defined = defined_;
    const auto line = [&] {
      std::ranges::for_each(r.lets, [this](const Let& definition) { let(definition); });
      expr(r.value, scalar);
    };
    if (const auto* over = std::get_if<Range>(&r.over)) {
      loops({{r.index, over}}, line);
    } else {
      index(r.index, true);
      range(std::get<TaskRange>(r.over));
      indices_.insert(r.index);
      line();
      indices_.erase(r.index);
    }
    defined_ = defined;
    const bool numbers = r.kind == Kind::kSum || r.kind == Kind::kProd || r.kind == Kind::kMin || r.kind == Kind::kMax;
    if (!numbers && (nest_.form != Form::kRows || r.kind == Kind::kUser))
      problem("lines are reduced by sum, prod, min, max");
    const auto* times = r.value ? std::get_if<ir::Binary>(&r.value->op) : nullptr;
    if (r.dot && (r.kind != Kind::kSum || times == nullptr || times->op != ir::BinaryOp::kMul))
      problem("the lines of %{} are no sum of products", r.local.id);
    if (nest_.form == Form::kTask && r.value && may_stop(nest_, r.value))
      problem("the line along {} holds what may stop the run", nest_.index(r.index).name);
  }

  void products(const AddProducts& p) {
    loops({{p.index, &p.over}, {p.along, &p.line}}, [&] {
      const std::optional<Scalar> scalar = place(p.to, true);
      expr(p.value, scalar);
      indices_.erase(p.along);
      expr(p.scale, scalar);
      if (may_stop(nest_, p.value) || may_stop(nest_, p.scale))
        problem("the line along {} holds what may stop the run", nest_.index(p.along).name);
    });
  }

  /// A tensor, or the part of it at the given subscripts, with at least `rest` further dimensions.
  void part(const Place& p, std::size_t rest, Scalar wanted) {
    if (!is_tensor(p.variable)) return problem("%{} is no tensor", p.variable.id);
    if (type(p.variable) != wanted || nest_.variable(p.variable).type.rank() < p.subscripts.size() + rest)
      problem("%{} is no tensor of {} with {} more dimensions", p.variable.id, ir::name_of(wanted), rest);
    for (const Expr& s : p.subscripts) expr(s, Scalar::kI64);
  }

  void row_products(const RowProducts& p) {
    using Kind = RowProducts::Kind;
    block(p.block);
    for (const int k : p.along) index(k, true);
    const bool matrices = p.kind == Kind::kRows || p.kind == Kind::kSums;
    if (p.along.size() != (matrices ? 2U : 1U)) problem("a product of rows runs along {} indices", p.along.size());
    if (!changes(p.to.variable)) return problem("%{} cannot be written", p.to.variable.id);
    if (!ir::is_float(type(p.to.variable))) problem("products of rows are of floats");
    part(p.to, matrices ? 2 : 1, type(p.to.variable));
    part(p.x, 2, type(p.to.variable));
    part(p.y, matrices ? 2 : 1, type(p.to.variable));
    const bool adds = p.kind == Kind::kSums || p.kind == Kind::kScaled;
    if (adds && !filled_.contains(p.to.variable)) problem("%{} is updated, and has no first values", p.to.variable.id);
  }

  void count(const Count& c) {
    expr(c.begin, Scalar::kI64);
    expr(c.end, Scalar::kI64);
    if (c.step == 0) problem("a loop's step is not 0");
    const std::set<ValueId> defined = defined_;
    define(c.local, Scalar::kI64);
    body(c.body);
    defined_ = defined;
  }

  void loop(const For& f) {
    index(f.index, !std::holds_alternative<Range>(f.over));
    match(
        f.over, [&](const TaskRange& r) { range(r); }, [&](const Range& r) { extents(r); }, [](const Stored&) {},
        [&](const Blocks& b) { extent(b.bytes); });
    if (std::holds_alternative<Blocks>(f.over)) {
      if (nest_.form != Form::kRows || f.order == Order::kSimd || f.parts)
        problem("blocks are those of a nest of rows");
      blocks_.insert(f.index);
      body(f.body);
      blocks_.erase(f.index);
      return;
    }
    const std::set<ValueId> defined = defined_;
    if (f.parts) parts(*f.parts);
    inside(f.index, f.body);
    defined_ = defined;
    if (f.order != Order::kSimd) return;
    if (const std::string reason = not_simd(nest_, f.index, f.body); !reason.empty())
      problem("the loop of vectors over {} holds {}", nest_.index(f.index).name, reason);
  }

  /// Evaluated before the loop, so without its index.
  void parts(const Parts& p) {
    const auto all = [this](const std::vector<Expr>& list) {
      std::ranges::for_each(list, [this](const Expr& e) { bound(e, Scalar::kI64); });
    };
    for (const Side& side : p.sides) {
      if (static_cast<bool>(side.until) == static_cast<bool>(side.condition))
        problem("the side %{} ends somewhere or has a condition", side.local.id);
      bound(side.until ? side.until : side.condition, side.until ? Scalar::kI64 : Scalar::kBool);
    }
    all(p.from);
    all(p.to);
    if (p.where) bound(p.where, Scalar::kBool);
    for (const Side& side : p.sides) define(side.local, Scalar::kBool);
    if (p.inside) define(*p.inside, Scalar::kBool);
  }
  void bound(const Expr& e, Scalar wanted) {
    expr(e, wanted);
    if (e && may_stop(nest_, e)) problem("the parts of a loop depend on what may stop the run");
  }

  void start(const Start& s) {
    const std::optional<Scalar> scalar = place(s.from, !s.fresh);
    if (!scalar) return;
    if (s.fresh) expr(s.fresh, scalar);
    define(s.local, *scalar);
    changing_.insert(s.local);
  }

  void narrow(const Narrow& n) {
    index(n.index, true);
    range(n.within);
    expr(n.value, Scalar::kI64);
    define(n.local, Scalar::kI64);
  }

  void branch(const If& i) {
    match(
        i.condition, [&](const Expr& e) { expr(e, Scalar::kBool); },
        [&](const HasPoints& p) {
          for (const int k : p.indices) {
            if (k < 0 || k >= static_cast<int>(nest_.indices.size()) || !nest_.index(k).of_task)
              problem("the task has no interval of index {}", k);
          }
        },
        [&](const IsMine& m) {
          for (const IsMine::Member& member : m.members) {
            if (!indices_.contains(member.index)) problem("index {} is looked for before it is computed", member.index);
          }
        },
        [&](const Nonempty& n) {
          for (const Range& r : n.ranges) extents(r);
        },
        [&](const Within& w) {
          index(w.index, false);
          expr(w.value, Scalar::kI64);
        });
    if (const auto* within = std::get_if<Within>(&i.condition)) return inside(within->index, i.body);
    body(i.body);
    body(i.otherwise);
  }

  void line(const LineReduction& l) {
    index(l.index, true);
    range(l.over);
    const std::optional<Scalar> scalar = place({l.local, {}}, true);
    const std::set<ValueId> defined = defined_;
    indices_.insert(l.index);
    std::ranges::for_each(l.lets, [this](const Let& definition) { let(definition); });
    expr(l.value, scalar);
    indices_.erase(l.index);
    defined_ = defined;
    if (l.kind != ir::Monoid::Kind::kSum && l.kind != ir::Monoid::Kind::kProd)
      problem("lines are summed or multiplied up");
    if (l.value && may_stop(nest_, l.value))
      problem("the line along {} holds what may stop the run", nest_.index(l.index).name);
  }

  void blocked(const BlockedReduction& b) {
    std::vector<int> inner = b.along;
    inner.insert(inner.end(), {b.row, b.column});
    for (const int k : inner) {
      index(k, true);
      indices_.insert(k);
    }
    const std::optional<Scalar> scalar = place(b.to, true);
    const auto without = [&](int k, const std::vector<Let>& lets) {
      indices_.erase(k);
      std::ranges::for_each(lets, [this](const Let& definition) { let(definition); });
      indices_.insert(k);
    };
    without(b.column, b.x);
    without(b.row, b.y);
    for (const int k : inner) indices_.erase(k);
    expr(b.value, scalar);
    if (b.guard) expr(b.guard, Scalar::kBool);
  }

  const Nest& nest_;
  ir::Program values_;
  std::set<int> indices_;      ///< in scope here
  std::set<int> blocks_;       ///< indices of the enclosing loops over blocks
  std::set<ValueId> defined_;  ///< locals in scope here
  std::set<ValueId> ever_defined_;
  std::set<ValueId> changing_;  ///< mutable locals
  std::set<ValueId> filled_;
  std::set<ValueId> sized_;            ///< tensors that have been resized
  std::map<ValueId, Scalar> located_;  ///< per position variable: type of the offered values
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify(const Nest& nest) {
  std::vector<std::string> problems = Verifier(nest).run();
  std::ranges::move(verify_stored(nest), std::back_inserter(problems));
  return problems;
}

void require_valid(const Nest& nest) {
  const std::vector<std::string> problems = verify(nest);
  TDSL_CHECK(problems.empty(), "the nest '" + nest.name + "' is well formed: " + problems.front());
}

}  // namespace tdsl::nest
