#include "codegen/nest/interpret.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "codegen/nest/facts.h"
#include "codegen/nest/text.h"
#include "ir/analysis/combined.h"
#include "ir/eval/elements.h"
#include "ir/eval/expr.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "runtime/kernels/philox.h"
#include "runtime/size.h"

namespace tdsl::nest {

using ir::match;
using ir::eval::CompiledExpr;
using ir::eval::Slot;
using Role = Variable::Role;

namespace {

struct Interval {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

class Interpreter {
 public:
  Interpreter(const Nest& nest, const Inputs& inputs)
      : nest_(nest),
        stored_(inputs.stored),
        values_(values_of(nest)),
        arrays_(nest.variables.size()),
        indices_(nest.indices.size()) {
    for (std::size_t k = 0; k < nest.variables.size(); ++k) {
      const Variable& v = nest.variables[k];
      if (v.role == Role::kCapture || v.role == Role::kParameter) set_capture(static_cast<std::int32_t>(k), inputs);
      if (v.role == Role::kOperand) arrays_[k] = inputs.operands.at(v.number);
      if ((v.role == Role::kLocal && v.type.rank() == 0) || v.role == Role::kPosition)
        arrays_[k] = zeros(v.type.scalar, {});
    }
    seed_ = inputs.seed;
    for (std::size_t k = 0; k < nest.variables.size(); ++k) {
      const Variable& v = nest.variables[k];
      if (v.role == Role::kResult) {
        result_ = {static_cast<std::int32_t>(k)};
        arrays_[k] = !v.continued               ? zeros(v.type.scalar, shape(v))
                     : nest.form == Form::kTask ? inputs.bases.at(v.number)
                                                : inputs.base;
      }
      if (v.role == Role::kLocal && v.type.rank() > 0 && !v.resized) arrays_[k] = zeros(v.type.scalar, shape(v));
      if (v.role == Role::kLocal && v.resized) arrays_[k].type = v.type.scalar;
    }
    for (const Index& i : nest.indices) intervals_.push_back({extent(i.begin), extent(i.end)});
  }

  std::map<int, ir::Array> task() {
    body(nest_.body);
    std::map<int, ir::Array> results;
    for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
      if (nest_.variables[k].role == Role::kResult) results[nest_.variables[k].number] = std::move(arrays_[k]);
    }
    return results;
  }

  ir::Array run() {
    const bool gives_value = nest_.form == Form::kFunction;  // and has no result
    if (!gives_value && !nest_.variable(result_).continued) body(nest_.fresh);
    body(nest_.body);
    if (gives_value) return std::move(returned_);
    return nest_.variable(result_).place ? packed() : std::move(array(result_));
  }

 private:
  /// All results, one after the other.
  ir::Array packed() {
    std::map<std::int64_t, ValueId> places;
    std::int64_t count = 0;
    for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
      if (!nest_.variables[k].place) continue;
      const ValueId v{static_cast<std::int32_t>(k)};
      if (array(v).size() > 0) places[extent(*nest_.variables[k].place)] = v;
      count += array(v).size();
    }
    const ir::Scalar type = nest_.variable(result_).type.scalar;
    ir::Array all = zeros(type, {count});
    for (const auto& [first, v] : places) {
      for (std::int64_t at = 0; at < array(v).size(); ++at) {
        const Slot x = load(v, static_cast<std::size_t>(at));
        const auto to = static_cast<std::size_t>(first + at);
        ir::is_float(type) ? static_cast<void>(all.floats[to] = x.real.value)
                           : static_cast<void>(all.integers[to] = x.whole.value);
        all.bounds[to] = ir::is_float(type) ? x.real.bound : x.whole.bound;
      }
    }
    return all;
  }

  ir::Array& array(ValueId v) { return arrays_[static_cast<std::size_t>(nest_.viewed(v).id)]; }

  static ir::Array zeros(ir::Scalar type, std::vector<std::int64_t> shape) {
    ir::Array a = ir::eval::zeros(type, std::move(shape));
    a.bounds.assign(static_cast<std::size_t>(a.size()), 0.0);
    return a;
  }
  std::vector<std::int64_t> shape(const Variable& v) {
    std::vector<std::int64_t> result;
    for (const Extent& e : v.type.shape) result.push_back(extent(e));
    return result;
  }
  void set_capture(std::int32_t k, const Inputs& inputs) {
    ir::Array& a = array({k});
    a = ir::eval::scalar_array(nest_.variable({k}).type.scalar, inputs.captures.at({k}));
    a.bounds = {0.0};
  }
  std::int64_t extent(const Extent& e) {
    return e.evaluate([this](ValueId v) { return array(v).integers.at(0); });
  }

  // --- Expressions

  CompiledExpr& compiled(const Expr& e) {
    std::unique_ptr<CompiledExpr>& known = compiled_[e.id()];
    if (!known) {
      kept_.push_back(e);
      known = std::make_unique<CompiledExpr>(
          values_, e, [this](ValueId v) -> const ir::Array& { return array(v); }, here());
    }
    return *known;
  }
  Slot value(const Expr& e) { return compiled(e).value(indices_.data()); }
  std::int64_t whole(const Expr& e) { return compiled(e).whole(indices_.data()).value; }

  /// The element's number.
  std::size_t position(const Place& p, const std::vector<std::int64_t>& rest = {}) {
    const Variable& v = nest_.variable(p.variable);
    const std::vector<std::int64_t>& shape = array(p.variable).shape;
    const std::size_t given = p.subscripts.size();
    std::int64_t at = 0;
    for (std::size_t d = 0; d < given + rest.size(); ++d) {
      const std::int64_t subscript = d < given ? whole(p.subscripts[d]) : rest[d - given];
      const std::int64_t s = subscript - (v.origin.empty() ? 0 : extent(v.origin[d]));
      ir::eval::check_subscript(s, shape[d], d, v.name, here());
      at = at * shape[d] + s;
    }
    return static_cast<std::size_t>(at);
  }
  Slot load(ValueId v, std::size_t at) { return ir::eval::element(array(v), at); }
  void store(ValueId v, std::size_t at, const Slot& x) { ir::eval::set_element(array(v), at, x); }

  void update(ValueId v, std::size_t at, const ir::Monoid& with, const Expr& e) {
    const Slot next = value(e);
    store(v, at, combined(with, array(v).type, load(v, at), next));
  }
  Slot combined(const ir::Monoid& with, ir::Scalar type, const Slot& old, const Slot& next) {
    // One expression per monoid and type.
    Expr& both = combinations_[{&with, type}];
    if (!both) both = ir::combined(with, ir::argument(type, 0), ir::argument(type, 1));
    return compiled(both).combine(old, next);
  }

  // --- Statements

  [[nodiscard]] Interval interval(int index) const {
    const int block = nest_.index(index).block;
    return intervals_[static_cast<std::size_t>(block < 0 ? index : block)];
  }
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

  /// Location of failures in expressions without one.
  [[nodiscard]] const ir::SourceRange& here() const { return place_.known() ? place_ : nest_.place; }

  void statement(const Statement& s) {
    if (s.place.known()) place_ = s.place;
    match(
        s.op, [&](const For& f) { loop(f); }, [&](const Let& l) { let(l); },
        [&](const Start& l) {
          const bool fresh = l.fresh && !nest_.variable(l.from.variable).continued;
          store(l.local, 0, fresh ? value(l.fresh) : load(l.from.variable, position(l.from)));
        },
        [&](const Narrow& n) { narrow(n); },
        [&](const Check& c) {
          const std::int64_t at = whole(c.value);
          ir::eval::check_subscript(at, extent(c.bound.extent), static_cast<std::size_t>(c.bound.dimension),
                                    c.bound.what, c.bound.place);
          indices_[static_cast<std::size_t>(c.index)] = at;
        },
        [&](const Store& w) {
          Slot x = value(w.value);
          // Zeros of either sign are not stored.
          if (nest_.variable(w.to.variable).type.is_compressed() && x.real.value == 0) x.real.value = 0;
          store(w.to.variable, position(w.to), x);
        },
        [&](const Update& u) { update(u.to.variable, position(u.to), u.with, u.value); },
        [&](const If& i) { body(holds(i) ? i.body : i.otherwise); }, [&](const LineReduction& l) { line(l); },
        [&](const BlockedReduction& b) { blocked(b, 0); },
        [&](const Fill& f) {
          for (std::int64_t at = 0; at < array(f.result).size(); ++at)
            store(f.result, static_cast<std::size_t>(at), value(f.value));
        },
        [&](const Var& v) { store(v.local, 0, v.value ? value(v.value) : Slot{}); }, [&](const Count& c) { count(c); },
        [&](const While& w) {
          for (body(w.before); whole(w.condition) != 0; body(w.before)) body(w.body);
        },
        [&](const Require& r) {
          if (whole(r.condition) == 0) ir::eval::stop(here(), r.message);
        },
        [&](const Return& r) { give(r); }, [&](const Copy& c) { array(c.to) = ir::Array(array(c.from)); },
        [&](const Keep& k) { array(k.local) = ir::Array(array(k.from)); },
        [&](const Resize& r) {
          array(r.local) = zeros(nest_.variable(r.local).type.scalar, shape(nest_.variable(r.local)));
        },
        [&](const CheckLine& c) {
          const std::int64_t count = extent(c.count);
          for (std::int64_t k = 0, at = extent(c.first); k < count; ++k, at += c.step) {
            const auto d = static_cast<std::size_t>(c.bound.dimension);
            ir::eval::check_subscript(at, array(c.tensor).shape[d], d, nest_.variable(c.tensor).name, c.bound.place);
          }
        },
        [&](const RowReduction& r) { row(r); }, [&](const AddProducts& p) { products(p); },
        [&](const Locate& l) {
          best_.erase(l.local);
          store(l.local, 0, {{}, {-1, 0}});
        },
        [&](const Offer& o) { offer(o, locates_largest(o.local)); }, [&](const Draw& d) { draw(d); },
        [&](const RequireSizes& r) { sizes(r); }, [&](const RowProducts& p) { row_products(p); },
        [&](const FillRows& f) { fill_rows(f); });
  }

  ir::Monoid& monoid(ir::Monoid::Kind kind) {
    ir::Monoid& with = lines_[kind];
    with.kind = kind;
    return with;
  }

  void row(const RowReduction& r) {
    const auto* range = std::get_if<Range>(&r.over);
    const Interval over = range != nullptr ? interval(*range) : interval(r.index, std::get<TaskRange>(r.over));
    const bool locates = ir::locates(monoid(r.kind));
    if (locates) best_.erase(r.local);
    each(r.index, over, [&] {
      std::ranges::for_each(r.lets, [this](const Let& definition) { let(definition); });
      if (locates) return offer({r.local, r.value, r.index}, r.kind == ir::Monoid::Kind::kArgMax);
      update(r.local, 0, monoid(r.kind), r.value);
    });
  }

  /// `to += x * y`, for elements of parts.
  void add_product(const RowProducts& p, const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& x,
                   const std::vector<std::int64_t>& y) {
    using Kind = ir::Monoid::Kind;
    const ir::Scalar type = nest_.variable(p.to.variable).type.scalar;
    const Slot product =
        combined(monoid(Kind::kProd), type, load(p.x.variable, position(p.x, x)), load(p.y.variable, position(p.y, y)));
    const std::size_t at = position(p.to, to);
    store(p.to.variable, at, combined(monoid(Kind::kSum), type, load(p.to.variable, at), product));
  }

  void row_products(const RowProducts& p) {
    using Kind = RowProducts::Kind;
    const Interval rows = intervals_[static_cast<std::size_t>(p.block)];
    const Interval first = interval(p.along.front()), last = interval(p.along.back());
    const auto each_of = [](Interval i, const auto& f) {
      for (std::int64_t k = i.lo; k < i.hi; ++k) f(k);
    };
    each_of(rows, [&](std::int64_t i) {
      each_of(first, [&](std::int64_t a) {
        if (p.kind == Kind::kScaled) return add_product(p, {a}, {i, a}, {i});
        if (p.kind == Kind::kRows) store(p.to.variable, position(p.to, {i, a}), {});
        if (p.kind == Kind::kDot && a == first.lo) store(p.to.variable, position(p.to, {i}), {});
        if (p.kind == Kind::kDot) return add_product(p, {i}, {i, a}, {a});
        each_of(last, [&](std::int64_t b) {
          if (p.kind == Kind::kSums) return add_product(p, {a, b}, {i, a}, {i, b});
          add_product(p, {i, a}, {i, b}, p.transposed ? std::vector{a, b} : std::vector{b, a});
        });
      });
      if (p.kind == Kind::kDot && first.lo >= first.hi) store(p.to.variable, position(p.to, {i}), {});
    });
  }

  void fill_rows(const FillRows& f) {
    const Slot x = value(f.value);
    const std::vector<std::int64_t>& shape = array(f.to.variable).shape;
    std::int64_t line = 1;
    for (std::size_t d = f.to.subscripts.size() + 1; d < shape.size(); ++d) line *= shape[d];
    const Interval rows = intervals_[static_cast<std::size_t>(f.block)];
    if (line == 0) return;
    for (std::int64_t i = rows.lo; i < rows.hi; ++i) {
      std::vector<std::int64_t> first(shape.size() - f.to.subscripts.size(), 0);
      first.front() = i;
      const std::size_t at = position(f.to, first);
      for (std::int64_t k = 0; k < line; ++k) store(f.to.variable, at + static_cast<std::size_t>(k), x);
    }
  }

  [[nodiscard]] Interval interval(const Range& r) { return {extent(r.begin), extent(r.end)}; }

  void products(const AddProducts& p) {
    Expr& product = products_[&p];
    if (!product) product = ir::binary(ir::BinaryOp::kMul, p.scale, p.value);
    const ir::Monoid& with = monoid(ir::Monoid::Kind::kSum);
    each(p.index, interval(p.over),
         [&] { each(p.along, interval(p.line), [&] { update(p.to.variable, position(p.to), with, product); }); });
  }

  /// Keeps the first of the best values, or the first nan.
  void offer(const Offer& o, bool largest) {
    const Slot x = value(o.value);
    const double number = ir::is_float(o.value->type) ? x.real.value : static_cast<double>(x.whole.value);
    const auto found = best_.find(o.local);
    const bool first = found == best_.end();
    const bool better = !first && !std::isnan(found->second) &&
                        (std::isnan(number) || (largest ? number > found->second : number < found->second));
    if (!first && !better) return;
    best_[o.local] = number;
    store(o.local, 0, {{}, {indices_[static_cast<std::size_t>(o.index)], 0}});
  }
  [[nodiscard]] bool locates_largest(ValueId v) const {
    bool largest = false;
    for_each_statement(nest_.body, [&](const Statement& s) {
      const auto* l = std::get_if<Locate>(&s.op);
      if (l != nullptr && l->local == v) largest = l->kind == ir::Monoid::Kind::kArgMax;
    });
    return largest;
  }

  void draw(const Draw& d) {
    std::vector<std::int64_t> iterations;
    for (const Expr& e : d.iterations) iterations.push_back(whole(e));
    const rt::RandomStream stream = rt::random_stream(seed_, d.site, iterations);
    const bool narrow = nest_.variable(d.local).type.scalar == ir::Scalar::kF32;
    double x = 0;
    if (d.kind == ir::Random::Kind::kUniform) {
      x = narrow ? static_cast<double>(rt::uniform_f32(stream, 0)) : rt::uniform_f64(stream, 0);
    } else {
      x = rt::normal_f64(stream, 0);
      if (narrow) x = static_cast<double>(static_cast<float>(x));
    }
    store(d.local, 0, {{x, 0}, {}});
  }

  void sizes(const RequireSizes& r) {
    if (r.guard && whole(r.guard) == 0) return;
    const std::int64_t left = extent(r.left);
    const std::int64_t right = extent(r.right);
    if (r.relation == ir::Check::Relation::kEqual ? rt::same_size(left, right) : left <= right) return;
    ir::eval::stop(here(), rt::with_sizes(r.message, left, right));
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
    returned_ = zeros(r.value->type, {});
    ir::eval::set_element(returned_, 0, value(r.value));
  }

  void loop(const For& f) {
    if (const auto* s = std::get_if<Stored>(&f.over)) return stored(f, *s);
    if (std::holds_alternative<Blocks>(f.over)) return blocks(f);
    const auto* task = std::get_if<TaskRange>(&f.over);
    const Interval range = task != nullptr ? interval(f.index, *task) : interval(std::get<Range>(f.over));
    if (!f.parts) return each(f.index, range, [&] { body(f.body); });
    const Parts& p = *f.parts;
    Interval inside = p.where && whole(p.where) == 0 ? Interval{} : range;
    for (const Expr& e : p.from) inside.lo = std::max(inside.lo, whole(e));
    for (const Expr& e : p.to) inside.hi = std::min(inside.hi, whole(e));
    std::vector<std::int64_t> ends;
    for (const Side& side : p.sides)
      ends.push_back(side.until ? whole(side.until) : whole(side.condition) != 0 ? range.hi : range.lo);
    const auto set = [this](ValueId local, bool value) { store(local, 0, {{}, {value ? 1 : 0, 0}}); };
    each(f.index, range, [&] {
      const std::int64_t at = indices_[static_cast<std::size_t>(f.index)];
      for (std::size_t k = 0; k < ends.size(); ++k) set(p.sides[k].local, at < ends[k]);
      if (p.inside) set(*p.inside, inside.lo <= at && at < inside.hi);
      body(f.body);
    });
  }

  /// Small blocks, the last one smaller.
  void blocks(const For& f) {
    constexpr std::int64_t kRows = 3;
    Interval& current = intervals_[static_cast<std::size_t>(f.index)];
    const Interval all = current;
    for (std::int64_t first = all.lo; first < all.hi; first += kRows) {
      current = {first, std::min(first + kRows, all.hi)};
      body(f.body);
    }
    current = all;
  }

  void stored(const For& f, const Stored& s) {
    each(f.index, interval(f.index), [&] {
      const auto holds = [&](const Fibre& fibre) { return holds_something(fibre, f.index); };
      const auto last = s.merge == ir::Merge::kFirst ? s.fibres.begin() + 1 : s.fibres.end();
      const bool all = s.merge == ir::Merge::kIntersection;
      if (all ? std::all_of(s.fibres.begin(), last, holds) : std::any_of(s.fibres.begin(), last, holds)) body(f.body);
    });
  }
  /// True if the fibre's operand stores an element below the indices.
  [[nodiscard]] bool holds_something(const Fibre& fibre, int index) {
    const ir::Array& a = array(fibre.operand);
    std::size_t first = 0, count = 1;
    for (std::size_t d = 0; d < a.shape.size(); ++d) {
      const auto extent = static_cast<std::size_t>(a.shape[d]);
      const int at = d < fibre.outer.size() ? fibre.outer[d] : index;
      if (d <= fibre.outer.size()) {
        first = first * extent + static_cast<std::size_t>(indices_[static_cast<std::size_t>(at)]);
      } else {
        count *= extent;
      }
    }
    for (std::size_t at = first * count; at < (first + 1) * count; ++at) {
      if (is_stored(a, nest_.variable(fibre.operand).number, at)) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_stored(const ir::Array& a, int number, std::size_t at) const {
    const auto mark = stored_.find(number);
    if (mark != stored_.end() && mark->second[at]) return true;
    return ir::is_float(a.type) ? a.floats[at] != 0.0 : a.integers[at] != 0;
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
        [&](const HasPoints& p) {
          return std::ranges::all_of(p.indices, [&](int k) { return interval(k).lo < interval(k).hi; });
        },
        [&](const IsMine& m) {
          return std::ranges::all_of(m.members, [&](const IsMine::Member& member) {
            const std::int64_t at = indices_[static_cast<std::size_t>(member.index)];
            const Interval mine = member.dimension < 0
                                      ? interval(member.index)
                                      : Interval{0, array(result_).shape[static_cast<std::size_t>(member.dimension)]};
            return mine.lo <= at && at < mine.hi;
          });
        },
        [&](const Nonempty& n) {
          return std::ranges::all_of(n.ranges, [&](const Range& r) { return extent(r.begin) < extent(r.end); });
        },
        [&](const Within& w) {
          const std::int64_t at = indices_[static_cast<std::size_t>(w.index)] = whole(w.value);
          return interval(w.index).lo <= at && at < interval(w.index).hi;
        });
  }

  void line(const LineReduction& l) {
    const ir::Monoid& with = monoid(l.kind);
    each(l.index, interval(l.index, l.over), [&] {
      std::ranges::for_each(l.lets, [this](const Let& definition) { let(definition); });
      update(l.local, 0, with, l.value);
    });
  }

  /// Row, column, and then the reduced indices.
  void blocked(const BlockedReduction& b, std::size_t depth) {
    if (depth < b.along.size() + 2) {
      const int index = depth == 0 ? b.row : depth == 1 ? b.column : b.along[depth - 2];
      return each(index, interval(index), [&] { blocked(b, depth + 1); });
    }
    for (const std::vector<Let>* lets : {&b.x, &b.y})
      std::ranges::for_each(*lets, [this](const Let& definition) { let(definition); });
    if (!b.guard || whole(b.guard) != 0) update(b.to.variable, position(b.to), b.with, b.value);
  }

  const Nest& nest_;
  const std::map<int, std::vector<bool>>& stored_;
  ir::Program values_;
  std::vector<ir::Array> arrays_;  ///< by variable
  std::vector<std::int64_t> indices_;
  std::vector<Interval> intervals_;
  ValueId result_;
  ir::Array returned_;              ///< return value of a function
  std::map<ValueId, double> best_;  ///< best value so far, by position variable
  std::map<const AddProducts*, Expr> products_;
  std::uint64_t seed_ = 0;
  ir::SourceRange place_;  ///< of the last statement that has one
  std::unordered_map<const ir::ExprNode*, std::unique_ptr<CompiledExpr>> compiled_;
  std::vector<Expr> kept_;
  std::map<std::pair<const ir::Monoid*, ir::Scalar>, Expr> combinations_;
  std::map<ir::Monoid::Kind, ir::Monoid> lines_;
};

}  // namespace

ir::Array interpret(const Nest& nest, const Inputs& inputs) { return Interpreter(nest, inputs).run(); }

std::map<int, ir::Array> interpret_task(const Nest& nest, const Inputs& inputs) {
  return Interpreter(nest, inputs).task();
}

}  // namespace tdsl::nest
