#include "passes/loops/loop_dependences.h"

#include <algorithm>
#include <iterator>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"

namespace tdsl::passes {

using namespace ir;

namespace {

std::string name_or_number(const Program& program, ValueId v) {
  const std::string& name = program.info(v).name;
  return name.empty() ? "%" + std::to_string(v.id) : name;
}

struct Access {
  const Node* statement;
  std::vector<Expr> subscripts;
};

/// All updates of one carried tensor, and all reads of its versions other than the old value of an update.
struct Accesses {
  std::vector<const Node*> writes;
  std::vector<Access> reads;
};

void collect_reads(const Node& statement, const Expr& e, const std::set<ValueId>& versions, Accesses& into) {
  if (!e) return;
  for_each_read(e, [&](const Read& r) {
    if (versions.contains(r.tensor)) into.reads.push_back({&statement, r.subscripts});
  });
}

class Analysis {
 public:
  Analysis(const Program& program, const LoopBody& body, const LoopRanges& around,
           const std::function<Extent(const Extent&)>& resolve, Refusal& refusal)
      : program_(program),
        body_(body),
        around_(around),
        resolve_(resolve),
        refusal_(refusal),
        inside_(body.defined()) {}

  std::optional<LoopDependences> run() {
    LoopDependences result;
    for (std::size_t k = 0; k < body_.carried.size(); ++k) {
      const auto access = classify(body_.carried[k], k, result.version_of);
      if (!access) return std::nullopt;
      result.carried.push_back(*access);
    }
    return result;
  }

 private:
  std::optional<CarriedAccess> refuse(const SourceRange& range, std::string reason) {
    refusal_ = {range, std::move(reason)};
    return std::nullopt;
  }

  std::optional<CarriedAccess> classify(const LoopBody::Carried& k, std::size_t number,
                                        std::map<ValueId, std::size_t>& version_of) {
    std::set<ValueId> versions{k.argument};
    Accesses accesses;
    for (const Node& s : body_.statements) {
      const Compute& c = std::get<Compute>(s.op);
      if (!c.base || !versions.contains(*c.base)) continue;
      versions.insert(s.results[0]);
      accesses.writes.push_back(&s);
    }
    for (const Node& s : body_.statements) {
      const Compute& c = std::get<Compute>(s.op);
      collect_reads(s, c.bodies[0], versions, accesses);
      collect_reads(s, c.guard, versions, accesses);
      for (const Expr& e : c.left) collect_reads(s, e, versions, accesses);
    }
    const std::string name = name_or_number(program_, k.argument);
    if (!versions.contains(k.yield)) return replaced(k, accesses, name);
    for (const ValueId v : versions) version_of.insert({v, number});
    if (accesses.writes.empty()) return CarriedAccess{};
    if (accesses.writes.back()->results[0] != k.yield) {
      return refuse(body_.range, "`" + name + "` keeps an older version at the end of an iteration");
    }
    if (const auto slab = independent(accesses)) return slab;
    if (const auto apart = separate(accesses)) return apart;
    return accumulated(accesses, name);
  }

  /// The case in which the yield is not an update of the carried value.
  std::optional<CarriedAccess> replaced(const LoopBody::Carried& k, const Accesses& accesses, const std::string& name) {
    const Node* statement = body_.statement_of(k.yield);
    const SourceRange range = statement == nullptr ? body_.range : statement->range;
    if (!accesses.reads.empty() || !accesses.writes.empty()) {
      return refuse(accesses.reads.empty() ? range : accesses.reads[0].statement->range,
                    "`" + name + "` is read as the previous iteration left it");
    }
    const bool carried_elsewhere =
        std::ranges::any_of(body_.carried, [&](const auto& other) { return other.yield == k.argument; });
    if (k.result_used || carried_elsewhere) {
      return refuse(range, "`" + name + "` is replaced in every iteration and its last value is used");
    }
    CarriedAccess access;
    access.kind = CarriedAccess::Kind::kDropped;
    return access;
  }

  std::optional<LinearForm> linear(const Expr& subscript) const {
    const auto extent = extent_of(subscript);
    if (!extent) return std::nullopt;
    const auto form = linear_in(*extent, body_.index);
    if (!form) return std::nullopt;
    for (const ValueId v : form->rest.values()) {
      if (inside_.contains(v)) return std::nullopt;
    }
    return form;
  }

  std::optional<CarriedAccess> independent(const Accesses& accesses) const {
    const std::size_t rank = std::get<Compute>(accesses.writes[0]->op).left.size();
    for (std::size_t d = 0; d < rank; ++d) {
      std::optional<LinearForm> form;
      const bool agree = std::ranges::all_of(accesses.writes, [&](const Node* w) {
        const Compute& c = std::get<Compute>(w->op);
        if (c.left.size() != rank) return false;
        const auto here = linear(c.left[d]);
        if (!here || here->coefficient == 0) return false;
        if (!form) form = here;
        return here->coefficient == form->coefficient && here->rest == form->rest;
      });
      if (!agree) continue;
      CarriedAccess access{CarriedAccess::Kind::kIndependent, d, form->coefficient, form->rest};
      const bool reads_agree = std::ranges::all_of(accesses.reads, [&](const Access& r) {
        const auto here = linear(r.subscripts[d]);
        const bool same = here && here->coefficient == access.coefficient && here->rest == access.offset;
        return same || reads_initial(body_, access, r.subscripts);
      });
      if (reads_agree) return access;
    }
    return std::nullopt;
  }

  /// `T[i, i - 1] = a; T[i - 1, i] = b;`: no two iterations write the same element, and none is read.
  std::optional<CarriedAccess> separate(const Accesses& accesses) const {
    if (!accesses.reads.empty()) return std::nullopt;
    std::vector<std::vector<LinearForm>> places;
    std::optional<CarriedAccess> first;
    for (const Node* w : accesses.writes) {
      std::vector<LinearForm>& place = places.emplace_back();
      bool moves = false;
      for (const Expr& e : std::get<Compute>(w->op).left) {
        const auto form = linear(e);
        if (!form) return std::nullopt;
        if (!first && form->coefficient != 0)
          first = {CarriedAccess::Kind::kIndependent, place.size(), form->coefficient, form->rest};
        moves = moves || form->coefficient != 0;
        place.push_back(*form);
      }
      if (!moves || place.size() != places.front().size()) return std::nullopt;
    }
    for (std::size_t a = 0; a < places.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (may_collide(places[a], places[b])) return std::nullopt;
      }
    }
    return first;
  }

  /// False if iterations i and i + d with d other than 0 never meet in an element: dimensions demand different d, or 0.
  static bool may_collide(const std::vector<LinearForm>& a, const std::vector<LinearForm>& b) {
    std::optional<std::int64_t> apart;
    for (std::size_t d = 0; d < a.size(); ++d) {
      const auto offset = (a[d].rest - b[d].rest).constant();
      const std::int64_t factor = a[d].coefficient;
      if (!offset || factor != b[d].coefficient) continue;
      if (factor == 0 ? *offset != 0 : *offset % factor != 0) return false;
      if (factor == 0) continue;
      const std::int64_t here = *offset / factor;
      if (here == 0 || (apart && *apart != here)) return false;
      apart = here;
    }
    return true;
  }

  std::optional<CarriedAccess> accumulated(const Accesses& accesses, const std::string& name) {
    std::vector<Access> met;
    std::ranges::copy_if(accesses.reads, std::back_inserter(met), [&](const Access& r) {
      return !std::ranges::all_of(accesses.writes, [&](const Node* w) { return are_apart(r, *w); });
    });
    if (!met.empty()) {
      const Node* write = accesses.writes.back();
      const Access& r = offending(met, std::get<Compute>(write->op));
      return refuse(r.statement->range, dependence(name, r, *write));
    }
    const std::optional<Monoid>& first = std::get<Compute>(accesses.writes[0]->op).combine;
    for (const Node* w : accesses.writes) {
      const Compute& c = std::get<Compute>(w->op);
      if (!c.combine) {
        return refuse(w->range, "`" + name + "` may be written at the same element by several iterations (" +
                                    text(name, c.left, c) + ")");
      }
      // A user-defined operator is associative but may not commute, so several updates must keep their order.
      const bool mixed =
          !equal(*c.combine, *first) || (c.combine->kind == Monoid::Kind::kUser && accesses.writes.size() > 1);
      if (mixed) return refuse(w->range, "`" + name + "` is combined by different operators");
    }
    CarriedAccess access;
    access.kind = CarriedAccess::Kind::kAccumulated;
    return access;
  }

  /// Bounds of a subscript over the loop and the index variables of its statement.
  [[nodiscard]] std::optional<AffineHull> hull(const Expr& subscript, const Compute& c) const {
    const auto form = affine_of(subscript, read_scalar);
    const auto points = form ? hull_of(*form, all_labels(c)) : std::nullopt;
    const auto low = points ? linear_in(points->low, body_.index) : std::nullopt;
    const auto high = points ? linear_in(points->high, body_.index) : std::nullopt;
    if (!low || !high) return std::nullopt;
    const Extent first = body_.step > 0 ? body_.begin : body_.end + Extent(1);
    const Extent last = body_.step > 0 ? body_.end - Extent(1) : body_.begin;
    const AffineHull hull{low->rest + Extent(low->coefficient) * (low->coefficient > 0 ? first : last),
                          high->rest + Extent(high->coefficient) * (high->coefficient > 0 ? last : first)};
    const auto changes = [&](const Extent& e) {
      return std::ranges::any_of(e.values(), [&](ValueId v) { return inside_.contains(v); });
    };
    return changes(hull.low) || changes(hull.high) ? std::nullopt : std::optional(hull);
  }

  /// True if no iteration reads an element there that one writes: some subscript is below or above all written ones.
  [[nodiscard]] bool are_apart(const Access& read, const Node& write) const {
    const Compute& to = std::get<Compute>(write.op);
    if (to.left.size() != read.subscripts.size()) return false;
    const auto is_less = [&](const Extent& a, const Extent& b) {
      return around_.never_negative(resolve_(b - a - Extent(1)));
    };
    for (std::size_t d = 0; d < to.left.size(); ++d) {
      const auto here = hull(read.subscripts[d], std::get<Compute>(read.statement->op));
      const auto there = here ? hull(to.left[d], to) : std::nullopt;
      if (there && (is_less(here->high, there->low) || is_less(there->high, here->low))) return true;
    }
    return false;
  }

  /// The read to report: preferably one whose element differs from the written one.
  static const Access& offending(const std::vector<Access>& reads, const Compute& write) {
    const auto same = [&](const Access& r) {
      return std::ranges::equal(r.subscripts, write.left, [](const Expr& a, const Expr& b) { return equal(a, b); });
    };
    const auto found = std::ranges::find_if_not(reads, same);
    return found == reads.end() ? reads[0] : *found;
  }

  [[nodiscard]] std::string text(const std::string& name, const std::vector<Expr>& subscripts, const Compute& c) const {
    if (subscripts.empty()) return name;
    std::string result = name + "[";
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      result += (d == 0 ? "" : ", ") + subscript_text(subscripts[d], c);
    }
    return result + "]";
  }

  /// Source-like text of a subscript of `c`, with names of values and index variables.
  [[nodiscard]] std::string subscript_text(const Expr& e, const Compute& c) const {
    if (const auto polynomial = polynomial_of(e)) {
      return polynomial->to_string([&](ValueId v) {
        const std::int32_t label = label_value(0).id - v.id;
        if (v.id > label_value(0).id) return name_or_number(program_, v);
        const auto index = static_cast<std::size_t>(label);
        return index < c.out.size() ? c.out[index].name : c.reduce.at(index - c.out.size()).name;
      });
    }
    const auto* r = std::get_if<Read>(&e->op);
    return r == nullptr ? "…" : text(name_or_number(program_, r->tensor), r->subscripts, c);
  }

  [[nodiscard]] std::string dependence(const std::string& name, const Access& r, const Node& write) const {
    const Compute& c = std::get<Compute>(write.op);
    const std::string written = text(name, c.left, c);
    const std::string needed = text(name, r.subscripts, std::get<Compute>(r.statement->op));
    if (written == needed) return "`" + needed + "` is read as earlier iterations left it";
    return "`" + written + "` depends on `" + needed + "`, which an earlier iteration may have written";
  }

  const Program& program_;
  const LoopBody& body_;
  const LoopRanges& around_;
  const std::function<Extent(const Extent&)>& resolve_;
  Refusal& refusal_;
  std::set<ValueId> inside_;
};

}  // namespace

std::optional<LoopDependences> find_dependences(const Program& program, const LoopBody& body, const LoopRanges& around,
                                                const std::function<Extent(const Extent&)>& resolve, Refusal& refusal) {
  return Analysis(program, body, around, resolve, refusal).run();
}

bool reads_initial(const LoopBody& body, const CarriedAccess& access, const std::vector<Expr>& subscripts) {
  if (access.kind != CarriedAccess::Kind::kIndependent || access.dimension >= subscripts.size()) return false;
  const auto extent = extent_of(subscripts[access.dimension]);
  if (!extent) return false;
  const auto form = linear_in(*extent, body.index);
  if (!form) return false;
  if (form->coefficient == access.coefficient) {
    // A read `distance` ahead of the write: another iteration's element, written later or never.
    const auto distance = (form->rest - access.offset).constant();
    if (!distance || *distance == 0) return false;
    const bool counts_up = (access.coefficient > 0) == (body.step > 0);
    return counts_up ? *distance > 0 : *distance < 0;
  }
  if (form->coefficient != 0) return false;
  const Extent first = body.step > 0 ? body.begin : body.end + Extent(1);
  const Extent last = body.step > 0 ? body.end - Extent(1) : body.begin;
  const Extent a = Extent(access.coefficient) * first + access.offset;
  const Extent b = Extent(access.coefficient) * last + access.offset;
  const auto below = (form->rest - (access.coefficient > 0 ? a : b)).constant();
  const auto above = (form->rest - (access.coefficient > 0 ? b : a)).constant();
  return (below && *below < 0) || (above && *above > 0);
}

}  // namespace tdsl::passes
