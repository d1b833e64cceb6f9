#include <algorithm>

#include "codegen/nest/interpreter.h"
#include "runtime/size.h"

namespace tdsl::nest {

using ir::match;

NestInterpreter::Interval NestInterpreter::interval(int index) const {
  const int block = nest_.index(index).block;
  return intervals_[static_cast<std::size_t>(block < 0 ? index : block)];
}

NestInterpreter::Interval NestInterpreter::interval(int index, const TaskRange& r) {
  Interval i = interval(index);
  if (r.begin) i.lo = array(*r.begin).integers.at(0);
  if (r.end) i.hi = array(*r.end).integers.at(0);
  return i;
}

void NestInterpreter::body(const Body& statements) {
  for (const Statement& s : statements) statement(s);
}

void NestInterpreter::statement(const Statement& s) {
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
        ir::eval::check_subscript(at, extent(c.bound.extent), static_cast<std::size_t>(c.bound.dimension), c.bound.what,
                                  c.bound.place);
        indices_[static_cast<std::size_t>(c.index)] = at;
      },
      [&](const Store& w) {
        Slot x = value(w.value);
        // Zeros of either sign are not stored.
        if (nest_.variable(w.to.variable).type.is_compressed() && x.real.value == 0) x.real.value = 0;
        if (nest_.variable(w.to.variable).type.is_compressed() && x.real.imag == 0) x.real.imag = 0;
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
      [&](const Return& r) {
        returned_ = zeros(r.value->type, {});
        ir::eval::set_element(returned_, 0, value(r.value));
      },
      [&](const Copy& c) { array(c.to) = ir::Array(array(c.from)); },
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
      [&](const RequireSizes& r) { sizes(r); }, [&](const SmallRoutine& r) { small_routine(r); },
      [&](const RowProducts& p) { row_products(p); }, [&](const FillRows& f) { fill_rows(f); },
      [&](const Mirror& m) { mirror(m); });
}

void NestInterpreter::count(const Count& c) {
  std::int64_t i = whole(c.begin);
  const std::int64_t end = whole(c.end);
  for (; c.step > 0 ? i < end : i > end; i = rt::advanced(i, c.step)) {
    store(c.local, 0, {{}, {i, 0}});
    body(c.body);
  }
}

void NestInterpreter::loop(const For& f) {
  if (const auto* s = std::get_if<Stored>(&f.over)) return stored(f, *s);
  if (std::holds_alternative<Blocks>(f.over)) return blocks(f);
  const auto* task = std::get_if<TaskRange>(&f.over);
  const Interval range = task != nullptr ? interval(f.index, *task) : interval(std::get<Range>(f.over));
  each_part(f.index, range, f.parts, [&] { body(f.body); });
}

void NestInterpreter::each_part(int index, Interval range, const std::optional<Parts>& parts,
                                const std::function<void()>& f) {
  if (!parts) return each(index, range, f);
  const Parts& p = *parts;
  Interval inside = p.where && whole(p.where) == 0 ? Interval{} : range;
  for (const Expr& e : p.from) inside.lo = std::max(inside.lo, whole(e));
  for (const Expr& e : p.to) inside.hi = std::min(inside.hi, whole(e));
  std::vector<std::int64_t> ends;
  for (const Side& side : p.sides)
    ends.push_back(side.until ? whole(side.until) : whole(side.condition) != 0 ? range.hi : range.lo);
  const auto set = [this](ValueId local, bool value) { store(local, 0, {{}, {value ? 1 : 0, 0}}); };
  each(index, range, [&] {
    const std::int64_t at = indices_[static_cast<std::size_t>(index)];
    for (std::size_t k = 0; k < ends.size(); ++k) set(p.sides[k].local, at < ends[k]);
    if (p.inside) set(*p.inside, inside.lo <= at && at < inside.hi);
    f();
  });
}

void NestInterpreter::blocks(const For& f) {
  constexpr std::int64_t kRows = 3;
  Interval& current = intervals_[static_cast<std::size_t>(f.index)];
  const Interval all = current;
  for (std::int64_t first = all.lo; first < all.hi; first += kRows) {
    current = {first, std::min(first + kRows, all.hi)};
    body(f.body);
  }
  current = all;
}

void NestInterpreter::stored(const For& f, const Stored& s) {
  each(f.index, interval(f.index, s.within), [&] {
    const auto holds = [&](const Fibre& fibre) { return holds_something(fibre, f.index); };
    const auto last = s.merge == ir::Merge::kFirst ? s.fibres.begin() + 1 : s.fibres.end();
    const bool all = s.merge == ir::Merge::kIntersection;
    if (all ? std::all_of(s.fibres.begin(), last, holds) : std::any_of(s.fibres.begin(), last, holds)) body(f.body);
  });
}

bool NestInterpreter::holds_something(const Fibre& fibre, int index) {
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

bool NestInterpreter::is_stored(const ir::Array& a, int number, std::size_t at) const {
  const auto mark = stored_.find(number);
  if (mark != stored_.end() && mark->second[at]) return true;
  if (ir::is_complex(a.type) && a.imaginary[at] != 0.0) return true;
  return ir::is_float(a.type) ? a.floats[at] != 0.0 : a.integers[at] != 0;
}

void NestInterpreter::narrow(const Narrow& n) {
  const Interval i = interval(n.index, n.within);
  std::int64_t side = n.begins ? i.lo : i.hi;
  if (n.safe || i.lo < i.hi) {
    const std::int64_t at = whole(n.value);
    const std::int64_t bound = n.past ? std::min(at, i.hi - 1) + 1 : at;
    side = n.begins ? std::max(side, bound) : std::min(side, bound);
  }
  store(n.local, 0, {{}, {side, 0}});
}

bool NestInterpreter::holds(const If& i) {
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

}  // namespace tdsl::nest
