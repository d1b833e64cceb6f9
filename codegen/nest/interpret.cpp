#include "codegen/nest/interpret.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "codegen/nest/text.h"
#include "ir/check.h"
#include "ir/combined.h"
#include "ir/eval_expr.h"
#include "runtime/exact.h"

namespace tdsl::nest {

using ir::match;
using ir::eval::CompiledExpr;
using Role = Variable::Role;

namespace {

struct Interval {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

/// The value of an element or a local.
struct Value {
  ir::eval::Real real;
  ir::eval::Whole whole;
};

class Interpreter {
 public:
  Interpreter(const Nest& nest, const Inputs& inputs) : nest_(nest), values_(values_of(nest)), arrays_(nest.variables.size()), indices_(nest.indices.size()) {
    for (std::size_t k = 0; k < nest.variables.size(); ++k) {
      const Variable& v = nest.variables[k];
      if (v.role == Role::kCapture || v.role == Role::kParameter) set_capture(static_cast<std::int32_t>(k), inputs);
      if (v.role == Role::kOperand) arrays_[k] = inputs.operands.at(v.number);
      if (v.role == Role::kLocal) arrays_[k] = zeros(v.type.scalar, {});
    }
    for (std::size_t k = 0; k < nest.variables.size(); ++k) {
      const Variable& v = nest.variables[k];
      if (v.role == Role::kResult) result_ = {static_cast<std::int32_t>(k)}, arrays_[k] = v.continued ? inputs.base : zeros(v.type.scalar, shape(v));
    }
    for (const Index& i : nest.indices) intervals_.push_back({extent(i.begin), extent(i.end)});
  }

  ir::Array run() {
    if (!nest_.variable(result_).continued) body(nest_.fresh);
    body(nest_.body);
    if (nest_.form == Form::kFunction) return std::move(returned_);
    return std::move(array(result_));
  }

 private:
  ir::Array& array(ValueId v) { return arrays_[static_cast<std::size_t>(v.id)]; }

  static ir::Array zeros(ir::Scalar type, std::vector<std::int64_t> shape) {
    ir::Array a;
    a.type = type;
    a.shape = std::move(shape);
    const auto count = static_cast<std::size_t>(a.size());
    if (ir::is_float(type)) {
      a.floats.assign(count, 0.0);
    } else {
      a.integers.assign(count, 0);
    }
    a.bounds.assign(count, 0.0);
    return a;
  }
  std::vector<std::int64_t> shape(const Variable& v) {
    std::vector<std::int64_t> result;
    for (const Extent& e : v.type.shape) result.push_back(extent(e));
    return result;
  }
  void set_capture(std::int32_t k, const Inputs& inputs) {
    ir::Array& a = array({k});
    a = zeros(nest_.variable({k}).type.scalar, {});
    match(
        inputs.captures.at({k}), [&](bool b) { a.integers = {b ? 1 : 0}; }, [&](std::int64_t i) { a.integers = {i}; },
        [&](double d) { a.floats = {d}; });
  }
  std::int64_t extent(const Extent& e) {
    return e.evaluate([this](ValueId v) { return array(v).integers.at(0); });
  }

  // --- Expressions

  CompiledExpr& compiled(const Expr& e) {
    std::unique_ptr<CompiledExpr>& known = compiled_[e.id()];
    if (!known) {
      kept_.push_back(e);
      known = std::make_unique<CompiledExpr>(values_, e, [this](ValueId v) -> const ir::Array& { return array(v); }, nest_.place);
    }
    return *known;
  }
  Value value(const Expr& e) {
    CompiledExpr& c = compiled(e);
    if (c.is_real()) return {c.real(indices_.data()), {}};
    return {{}, c.whole(indices_.data())};
  }
  std::int64_t whole(const Expr& e) { return compiled(e).whole(indices_.data()).value; }

  /// The element's number.
  std::size_t position(const Place& p) {
    const Variable& v = nest_.variable(p.variable);
    const std::vector<std::int64_t>& shape = array(p.variable).shape;
    std::int64_t at = 0;
    for (std::size_t d = 0; d < p.subscripts.size(); ++d) {
      const std::int64_t s = whole(p.subscripts[d]) - (v.origin.empty() ? 0 : extent(v.origin[d]));
      ir::eval::check_subscript(s, shape[d], d, v.name, nest_.place);
      at = at * shape[d] + s;
    }
    return static_cast<std::size_t>(at);
  }
  Value load(ValueId v, std::size_t at) {
    const ir::Array& a = array(v);
    const double bound = a.bounds.empty() ? 0 : a.bounds[at];
    if (ir::is_float(a.type)) return {{a.floats[at], bound}, {}};
    return {{}, {a.integers[at], bound}};
  }
  void store(ValueId v, std::size_t at, const Value& x) {
    ir::Array& a = array(v);
    if (a.bounds.empty()) a.bounds.assign(static_cast<std::size_t>(a.size()), 0.0);
    const bool real = ir::is_float(a.type);
    if (real) {
      a.floats[at] = x.real.value;
    } else {
      a.integers[at] = x.whole.value;
    }
    a.bounds[at] = real ? x.real.bound : x.whole.bound;
  }

  void update(ValueId v, std::size_t at, const ir::Monoid& with, const Expr& e) {
    const Value next = value(e);
    const Value old = load(v, at);
    const ir::Scalar type = array(v).type;
    // One expression for each monoid and type.
    Expr& both = combinations_[{&with, type}];
    if (!both) both = ir::combined(with, ir::argument(type, 0), ir::argument(type, 1));
    CompiledExpr& c = compiled(both);
    Value combined;
    if (c.is_real()) {
      combined.real = c.combine(old.real, next.real);
    } else {
      combined.whole = c.combine(old.whole, next.whole);
    }
    store(v, at, combined);
  }

  // --- Statements

  [[nodiscard]] Interval interval(int index) const { return intervals_[static_cast<std::size_t>(index)]; }
  Interval interval(int index, const TaskRange& r) {
    Interval i = interval(index);
    if (r.begin) i.lo = array(*r.begin).integers.at(0);
    if (r.end) i.hi = array(*r.end).integers.at(0);
    return i;
  }
  template <class F>
  void each(int index, Interval over, const F& f) {
    for (std::int64_t i = over.lo; i < over.hi; ++i) {
      indices_[static_cast<std::size_t>(index)] = i;
      f();
    }
  }

  void let(const Let& l) { store(l.local, 0, value(l.value)); }
  void body(const Body& statements) {
    for (const Statement& s : statements) statement(s);
  }

  void statement(const Statement& s) {
    match(
        s.op, [&](const For& f) { loop(f); }, [&](const Let& l) { let(l); },
        [&](const Start& l) {
          const bool fresh = l.fresh && !nest_.variable(l.from.variable).continued;
          store(l.local, 0, fresh ? value(l.fresh) : load(l.from.variable, position(l.from)));
        },
        [&](const Narrow& n) { narrow(n); },
        [&](const Check& c) {
          const std::int64_t at = whole(c.value);
          ir::eval::check_subscript(at, extent(c.bound.extent), static_cast<std::size_t>(c.bound.dimension), c.bound.what, c.bound.place);
          indices_[static_cast<std::size_t>(c.index)] = at;
        },
        [&](const Store& w) { store(w.to.variable, position(w.to), value(w.value)); },
        [&](const Update& u) { update(u.to.variable, position(u.to), u.with, u.value); },
        [&](const If& i) {
          body(holds(i) ? i.body : i.otherwise);
        },
        [&](const LineReduction& l) { line(l); }, [&](const BlockedReduction& b) { blocked(b, 0); },
        [&](const Fill& f) {
          for (std::int64_t at = 0; at < array(f.result).size(); ++at) store(f.result, static_cast<std::size_t>(at), value(f.value));
        },
        [&](const Var& v) { store(v.local, 0, v.value ? value(v.value) : Value{}); }, [&](const Count& c) { count(c); },
        [&](const While& w) {
          for (body(w.before); whole(w.condition) != 0; body(w.before)) body(w.body);
        },
        [&](const Require& r) {
          if (whole(r.condition) == 0) ir::eval::stop(s.place.known() ? s.place : nest_.place, r.message);
        },
        [&](const Return& r) { give(r); });
  }

  void count(const Count& c) {
    std::int64_t i = whole(c.begin);
    const std::int64_t end = whole(c.end);
    for (; c.step > 0 ? i < end : i > end; i = rt::advanced(i, c.step)) {
      store(c.local, 0, {{}, {i, 0}});
      body(c.body);
    }
  }

  void give(const Return& r) {
    const Value x = value(r.value);
    returned_ = zeros(r.value->type, {});
    if (ir::is_float(r.value->type)) {
      returned_.floats[0] = x.real.value;
      returned_.bounds[0] = x.real.bound;
    } else {
      returned_.integers[0] = x.whole.value;
      returned_.bounds[0] = x.whole.bound;
    }
  }

  void loop(const For& f) {
    const Interval range = interval(f.index, std::get<TaskRange>(f.over));
    if (!f.parts) return each(f.index, range, [&] { body(f.body); });
    const Parts& p = *f.parts;
    Interval inside = p.where && whole(p.where) == 0 ? Interval{} : range;
    for (const Expr& e : p.from) inside.lo = std::max(inside.lo, whole(e));
    for (const Expr& e : p.to) inside.hi = std::min(inside.hi, whole(e));
    std::vector<std::int64_t> ends;
    for (const Side& side : p.sides) ends.push_back(side.until ? whole(side.until) : whole(side.condition) != 0 ? range.hi : range.lo);
    const auto set = [this](ValueId local, bool value) { store(local, 0, {{}, {value ? 1 : 0, 0}}); };
    each(f.index, range, [&] {
      const std::int64_t at = indices_[static_cast<std::size_t>(f.index)];
      for (std::size_t k = 0; k < ends.size(); ++k) set(p.sides[k].local, at < ends[k]);
      if (p.inside) set(*p.inside, inside.lo <= at && at < inside.hi);
      body(f.body);
    });
  }

  void narrow(const Narrow& n) {
    const Interval i = interval(n.index, n.within);
    std::int64_t side = n.begins ? i.lo : i.hi;
    if (n.safe || i.lo < i.hi) {
      const std::int64_t at = whole(n.value);
      const std::int64_t bound = n.past ? std::min(at, i.hi - 1) + 1 : at;
      side = n.begins ? std::max(side, bound) : std::min(side, bound);
    }
    store(n.local, 0, {{}, {side, 0}});
  }

  bool holds(const If& i) {
    return match(
        i.condition, [&](const Expr& e) { return whole(e) != 0; },
        [&](const HasPoints& p) { return std::ranges::all_of(p.indices, [&](int k) { return interval(k).lo < interval(k).hi; }); },
        [&](const IsMine& m) {
          return std::ranges::all_of(m.members, [&](const IsMine::Member& member) {
            const std::int64_t at = indices_[static_cast<std::size_t>(member.index)];
            const Interval mine = member.dimension < 0 ? interval(member.index) : Interval{0, array(result_).shape[static_cast<std::size_t>(member.dimension)]};
            return mine.lo <= at && at < mine.hi;
          });
        });
  }

  void line(const LineReduction& l) {
    ir::Monoid& with = lines_[l.kind];
    with.kind = l.kind;
    each(l.index, interval(l.index, l.over), [&] {
      std::ranges::for_each(l.lets, [this](const Let& definition) { let(definition); });
      update(l.local, 0, with, l.value);
    });
  }

  /// Row, column, and then the indices along which it reduces.
  void blocked(const BlockedReduction& b, std::size_t depth) {
    if (depth < b.along.size() + 2) {
      const int index = depth == 0 ? b.row : depth == 1 ? b.column : b.along[depth - 2];
      return each(index, interval(index), [&] { blocked(b, depth + 1); });
    }
    for (const std::vector<Let>* lets : {&b.x, &b.y}) std::ranges::for_each(*lets, [this](const Let& definition) { let(definition); });
    if (!b.guard || whole(b.guard) != 0) update(b.to.variable, position(b.to), b.with, b.value);
  }

  const Nest& nest_;
  ir::Program values_;
  std::vector<ir::Array> arrays_;  ///< by variable
  std::vector<std::int64_t> indices_;
  std::vector<Interval> intervals_;
  ValueId result_;
  ir::Array returned_;  ///< by a function
  std::unordered_map<const ir::ExprNode*, std::unique_ptr<CompiledExpr>> compiled_;
  std::vector<Expr> kept_;
  std::map<std::pair<const ir::Monoid*, ir::Scalar>, Expr> combinations_;
  std::map<ir::Monoid::Kind, ir::Monoid> lines_;
};

}  // namespace

ir::Array interpret(const Nest& nest, const Inputs& inputs) { return Interpreter(nest, inputs).run(); }

}  // namespace tdsl::nest
