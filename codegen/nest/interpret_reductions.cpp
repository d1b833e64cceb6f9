#include <algorithm>
#include <cmath>

#include "codegen/nest/facts.h"
#include "codegen/nest/interpreter.h"
#include "ir/eval/routine.h"
#include "ir/graph/computes.h"
#include "runtime/kernels/philox.h"
#include "runtime/message_id.h"
#include "runtime/size.h"

namespace tdsl::nest {

ir::Monoid& NestInterpreter::monoid(ir::Monoid::Kind kind) {
  ir::Monoid& with = lines_[kind];
  with.kind = kind;
  return with;
}

void NestInterpreter::row(const RowReduction& r) {
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

void NestInterpreter::add_product(const RowProducts& p, const std::vector<std::int64_t>& to,
                                  const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y) {
  using Kind = ir::Monoid::Kind;
  const ir::Scalar type = nest_.variable(p.to.variable).type.scalar;
  const Slot product =
      combined(monoid(Kind::kProd), type, load(p.x.variable, position(p.x, x)), load(p.y.variable, position(p.y, y)));
  const std::size_t at = position(p.to, to);
  store(p.to.variable, at, combined(monoid(Kind::kSum), type, load(p.to.variable, at), product));
}

void NestInterpreter::row_products(const RowProducts& p) {
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
        if (p.kind == Kind::kUpper && a > b) return;
        if (p.kind == Kind::kSums || p.kind == Kind::kUpper) return add_product(p, {a, b}, {i, a}, {i, b});
        add_product(p, {i, a}, {i, b}, p.transposed ? std::vector{a, b} : std::vector{b, a});
      });
    });
    if (p.kind == Kind::kDot && first.lo >= first.hi) store(p.to.variable, position(p.to, {i}), {});
  });
}

void NestInterpreter::fill_rows(const FillRows& f) {
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

void NestInterpreter::mirror(const Mirror& m) {
  const Interval range = interval(m.along);
  const std::int64_t columns = array(m.to).shape.back();
  const auto place = [&](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * columns + b); };
  for (std::int64_t a = range.lo; a < range.hi; ++a) {
    for (std::int64_t b = range.lo; b < a; ++b) store(m.to, place(a, b), load(m.to, place(b, a)));
  }
}

void NestInterpreter::products(const AddProducts& p) {
  Expr& product = products_[&p];
  if (!product) product = ir::binary(ir::BinaryOp::kMul, p.scale, p.value);
  const ir::Monoid& with = monoid(ir::Monoid::Kind::kSum);
  each(p.index, interval(p.over),
       [&] { each(p.along, interval(p.line), [&] { update(p.to.variable, position(p.to), with, product); }); });
}

void NestInterpreter::offer(const Offer& o, bool largest) {
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

bool NestInterpreter::locates_largest(ValueId v) const {
  bool largest = false;
  for_each_statement(nest_.body, [&](const Statement& s) {
    const auto* l = std::get_if<Locate>(&s.op);
    if (l != nullptr && l->local == v) largest = l->kind == ir::Monoid::Kind::kArgMax;
  });
  return largest;
}

void NestInterpreter::draw(const Draw& d) {
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

void NestInterpreter::sizes(const RequireSizes& r) {
  if (r.guard && whole(r.guard) == 0) return;
  const std::int64_t left = extent(r.left);
  const std::int64_t right = extent(r.right);
  const bool equal = r.relation == ir::Check::Relation::kEqual;
  if (equal ? rt::same_size(left, right) : left <= right) return;
  ir::eval::stop(here(),
                 rt::with_id(rt::with_sizes(r.message, left, right), equal ? "shape-mismatch" : "out-of-bounds"));
}

void NestInterpreter::small_routine(const SmallRoutine& r) {
  std::vector<const ir::Array*> operands;
  for (const ValueId v : r.operands) operands.push_back(&array(v));
  std::vector<std::shared_ptr<ir::Array>> results;
  for (const ValueId v : r.results)
    results.push_back(std::make_shared<ir::Array>(zeros(nest_.variable(v).type.scalar, shape(nest_.variable(v)))));
  const ir::Routine routine{r.kind, r.operands, 0, nullptr, r.solves};
  ir::eval::evaluate_factorisation({here(), {}, {}}, routine, operands, results);
  for (std::size_t k = 0; k < results.size(); ++k) array(r.results[k]) = std::move(*results[k]);
}

void NestInterpreter::line(const LineReduction& l) {
  const ir::Monoid& with = monoid(l.kind);
  each_part(l.index, interval(l.index, l.over), l.parts, [&] {
    if (l.mask && whole(l.mask) == 0) return;
    std::ranges::for_each(l.lets, [this](const Let& definition) { let(definition); });
    update(l.local, 0, with, l.value);
  });
}

void NestInterpreter::blocked(const BlockedReduction& b, std::size_t depth) {
  if (depth < b.along.size() + 2) {
    const int index = depth == 0 ? b.row : depth == 1 ? b.column : b.along[depth - 2];
    return each(index, interval(index), [&] {
      if (depth == 1 && b.points && whole(b.points) == 0) return;
      blocked(b, depth + 1);
    });
  }
  for (const std::vector<Let>* lets : {&b.x, &b.y})
    std::ranges::for_each(*lets, [this](const Let& definition) { let(definition); });
  if (!b.guard || whole(b.guard) != 0) update(b.to.variable, position(b.to), b.with, b.value);
}

}  // namespace tdsl::nest
