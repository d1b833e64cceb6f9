#include <algorithm>

#include "codegen/nest/facts.h"
#include "codegen/nest/verifier.h"
#include "ir/graph/computes.h"
#include "ir/graph/inequalities.h"

namespace tdsl::nest {

using ir::match;

void NestVerifier::index(int k, bool of_task) {
  if (k < 0 || k >= static_cast<int>(nest_.indices.size())) return problem("there is no index {}", k);
  if (of_task && !nest_.index(k).of_task) problem("the task has no interval of {}", nest_.index(k).name);
  if (indices_.contains(k)) problem("index {} runs already", nest_.index(k).name);
  if (nest_.index(k).block >= 0) block(nest_.index(k).block);
}

void NestVerifier::block(int k) {
  if (!blocks_.contains(k)) problem("there is no block of index {} here", k);
}

void NestVerifier::range(const TaskRange& r) {
  for (const std::optional<ValueId>& v : {r.begin, r.end}) {
    if (v && !(has_role(*v, Role::kLocal) && defined_.contains(*v) && type(*v) == Scalar::kI64))
      problem("a loop is bounded by %{}, which is no integer local", v->id);
  }
}

void NestVerifier::body(const Body& statements) {
  const std::set<int> indices = indices_;
  const std::set<ValueId> defined = defined_;
  for (const Statement& s : statements) statement(s);
  indices_ = indices;
  defined_ = defined;
}

void NestVerifier::inside(int k, const Body& statements) {
  indices_.insert(k);
  body(statements);
  indices_.erase(k);
}

void NestVerifier::statement(const Statement& s) {
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
        if (!changes(r.local) || !nest_.variable(r.local).resized) return problem("%{} cannot be resized", r.local.id);
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
      [&](const SmallRoutine& r) { small_routine(r); }, [&](const RowProducts& p) { row_products(p); },
      [&](const FillRows& f) {
        block(f.block);
        if (!changes(f.to.variable)) return problem("%{} is filled, and is no tensor of rows", f.to.variable.id);
        part(f.to, 1, type(f.to.variable));
        expr(f.value, type(f.to.variable));
        filled_.insert(f.to.variable);
      },
      [&](const Mirror& m) {
        index(m.along, true);
        if (!changes(m.to) || nest_.variable(m.to).type.rank() != 2) problem("%{} is no matrix to be written", m.to.id);
      });
}

void NestVerifier::copy(ValueId from, ValueId to) {
  if (!is_tensor(from) || !changes(to) || type(from) != type(to) ||
      nest_.variable(from).type.rank() != nest_.variable(to).type.rank())
    problem("%{} cannot be copied to %{}", from.id, to.id);
}

void NestVerifier::small_routine(const SmallRoutine& r) {
  using Kind = ir::Routine::Kind;
  if (!ir::runs_in_tasks(r.kind)) return problem("a task computes no {}", ir::name_of(r.kind));
  const std::size_t operands = r.kind == Kind::kSolve ? 2 : 1;
  const std::size_t results = r.kind == Kind::kEigh ? 2 : 1;
  if (r.operands.size() != operands || r.results.size() != results)
    return problem("{} has {} operands and {} results", ir::name_of(r.kind), operands, results);
  for (const ValueId v : r.operands) {
    if (!is_tensor(v)) return problem("%{} is no operand of {}", v.id, ir::name_of(r.kind));
    read(v);
  }
  const Scalar scalar = type(r.operands[0]);
  if (nest_.variable(r.operands[0]).type.rank() != 2 || !ir::is_float(scalar) || !ir::is_real(scalar))
    problem("%{} is no matrix", r.operands[0].id);
  for (const ValueId v : r.results) {
    const bool local = r.kind == Kind::kDet && changing_.contains(v) && defined_.contains(v);
    if (!local && !changes(v)) return problem("%{} cannot be written", v.id);
    if (type(v) != scalar) problem("%{} is {}, not {}", v.id, ir::name_of(type(v)), ir::name_of(scalar));
    if (!local) sized(nest_.viewed(v));
  }
}

void NestVerifier::row(const RowReduction& r) {
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

void NestVerifier::products(const AddProducts& p) {
  loops({{p.index, &p.over}, {p.along, &p.line}}, [&] {
    const std::optional<Scalar> scalar = place(p.to, true);
    expr(p.value, scalar);
    indices_.erase(p.along);
    expr(p.scale, scalar);
    if (may_stop(nest_, p.value) || may_stop(nest_, p.scale))
      problem("the line along {} holds what may stop the run", nest_.index(p.along).name);
  });
}

void NestVerifier::part(const Place& p, std::size_t rest, Scalar wanted) {
  if (!is_tensor(p.variable)) return problem("%{} is no tensor", p.variable.id);
  if (type(p.variable) != wanted || nest_.variable(p.variable).type.rank() < p.subscripts.size() + rest)
    problem("%{} is no tensor of {} with {} more dimensions", p.variable.id, ir::name_of(wanted), rest);
  for (const Expr& s : p.subscripts) expr(s, Scalar::kI64);
}

void NestVerifier::row_products(const RowProducts& p) {
  using Kind = RowProducts::Kind;
  block(p.block);
  for (const int k : p.along) index(k, true);
  const bool matrices = p.kind == Kind::kRows || p.kind == Kind::kSums || p.kind == Kind::kUpper;
  if (p.along.size() != (matrices ? 2U : 1U)) problem("a product of rows runs along {} indices", p.along.size());
  if (!changes(p.to.variable)) return problem("%{} cannot be written", p.to.variable.id);
  if (!ir::is_real(type(p.to.variable))) problem("products of rows are of floats");
  part(p.to, matrices ? 2 : 1, type(p.to.variable));
  part(p.x, 2, type(p.to.variable));
  part(p.y, matrices ? 2 : 1, type(p.to.variable));
  const bool adds = p.kind == Kind::kSums || p.kind == Kind::kUpper || p.kind == Kind::kScaled;
  if (adds && !filled_.contains(p.to.variable)) problem("%{} is updated, and has no first values", p.to.variable.id);
}

void NestVerifier::count(const Count& c) {
  expr(c.begin, Scalar::kI64);
  expr(c.end, Scalar::kI64);
  if (c.step == 0) problem("a loop's step is not 0");
  const std::set<ValueId> defined = defined_;
  define(c.local, Scalar::kI64);
  body(c.body);
  defined_ = defined;
}

void NestVerifier::loop(const For& f) {
  index(f.index, !std::holds_alternative<Range>(f.over));
  match(
      f.over, [&](const TaskRange& r) { range(r); }, [&](const Range& r) { extents(r); },
      [&](const Stored& s) { range(s.within); }, [&](const Blocks& b) { extent(b.bytes); });
  if (const auto* blocks = std::get_if<Blocks>(&f.over)) {
    const bool codes =
        !blocks->codes || (exists(*blocks->codes) && nest_.variable(*blocks->codes).type.is_compressed());
    if (!codes) problem("blocks of codes have a compressed operand");
    if (nest_.form != Form::kRows || f.order == Order::kSimd || f.parts) problem("blocks are those of a nest of rows");
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

void NestVerifier::parts(const Parts& p) {
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

void NestVerifier::bound(const Expr& e, Scalar wanted) {
  expr(e, wanted);
  if (e && may_stop(nest_, e)) problem("the parts of a loop depend on what may stop the run");
}

void NestVerifier::start(const Start& s) {
  const std::optional<Scalar> scalar = place(s.from, !s.fresh);
  if (!scalar) return;
  if (s.fresh) expr(s.fresh, scalar);
  define(s.local, *scalar);
  changing_.insert(s.local);
}

void NestVerifier::narrow(const Narrow& n) {
  index(n.index, true);
  range(n.within);
  expr(n.value, Scalar::kI64);
  define(n.local, Scalar::kI64);
}

void NestVerifier::branch(const If& i) {
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

void NestVerifier::first_elements(const LineReduction& l) {
  const auto* b = l.mask ? std::get_if<ir::Binary>(&l.mask->op) : nullptr;
  const bool compares = b != nullptr && (b->op == ir::BinaryOp::kLe || b->op == ir::BinaryOp::kLt) &&
                        !ir::mentions_label(b->right, l.index);
  const auto* one = l.value ? std::get_if<ir::Constant>(&l.value->op) : nullptr;
  const auto* number = one == nullptr ? nullptr : std::get_if<std::int64_t>(&one->value);
  if (!compares || number == nullptr || *number != 1 || l.kind != ir::Monoid::Kind::kSum)
    problem("elements along {} are searched for a value to count those up to it", nest_.index(l.index).name);
}

void NestVerifier::line(const LineReduction& l) {
  index(l.index, true);
  range(l.over);
  const std::optional<Scalar> scalar = place({l.local, {}}, true);
  const std::set<ValueId> defined = defined_;
  if (l.parts) parts(*l.parts);
  if (l.parts && !l.parts->sides.empty()) problem("lines have an interior, and no sides");
  indices_.insert(l.index);
  if (l.mask) expr(l.mask, Scalar::kBool);
  std::ranges::for_each(l.lets, [this](const Let& definition) { let(definition); });
  expr(l.value, scalar);
  indices_.erase(l.index);
  defined_ = defined;
  using Kind = ir::Monoid::Kind;
  const bool extremum = l.kind == Kind::kMin || l.kind == Kind::kMax;
  if (l.kind != Kind::kSum && l.kind != Kind::kProd && !(extremum && l.mask))
    problem("lines are summed or multiplied up");
  if (l.mask && l.parts) problem("lines with a mask have no interior");
  if (l.masks == LineReduction::Mask::kFirst) first_elements(l);
  const auto stops = [this](const Expr& e) { return e && may_stop(nest_, e); };
  const bool value_stops = stops(l.value) || std::ranges::any_of(l.lets, [&](const Let& x) { return stops(x.value); });
  if (stops(l.mask) || (value_stops && l.masks != LineReduction::Mask::kOnly))
    problem("the line along {} holds what may stop the run", nest_.index(l.index).name);
}

void NestVerifier::blocked(const BlockedReduction& b) {
  std::vector<int> inner = b.along;
  inner.insert(inner.end(), {b.row, b.column});
  for (const int k : inner) {
    index(k, true);
    indices_.insert(k);
  }
  const std::optional<Scalar> scalar = place(b.to, true);
  const auto is_half_plane = [&](const Expr& e) { return nest::is_half_plane(e, b.row, b.column); };
  if (b.points && !std::ranges::all_of(ir::conjuncts(b.points), is_half_plane))
    problem("the points of a reduction in blocks are no half-planes of rows and columns");
  if (b.points) {
    for (const int k : b.along) indices_.erase(k);
    expr(b.points, Scalar::kBool);
    indices_.insert(b.along.begin(), b.along.end());
  }
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

}  // namespace tdsl::nest
