#include "frontend/lower/state/values.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <utility>

#include "frontend/sema/types.h"
#include "ir/graph/check.h"
#include "ir/graph/procedure.h"
#include "ir/graph/within.h"
#include "runtime/size.h"

namespace tdsl::frontend {

bool stays_inside(const LabelInfo& label, const Extent& extent) {
  if (!label.is_explicit) return true;
  const auto begin = label.begin.constant();
  const auto room = (extent - label.end).constant();
  return label.resolved && begin && *begin >= 0 && room && *room >= 0;
}

std::string dimension_text(std::size_t d, std::size_t rank, const std::string& name) {
  if (rank == 1) return "the length of " + name;
  if (rank == 2) return (d == 0 ? "the number of rows of " : "the number of columns of ") + name;
  return "dimension " + std::to_string(d) + " of " + name;
}

namespace {

/// True if no evaluation of the expression can fail.
bool is_safe(const Expr& e, const GraphBuilder& graph) {
  bool safe = true;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    safe = safe && !ir::operation_may_fail(node);
    const auto* read = std::get_if<ir::Read>(&node.op);
    if (read == nullptr) return;
    const ir::Type& type = graph.program().type(read->tensor);
    for (std::size_t d = 0; d < read->subscripts.size(); ++d) {
      const auto* index = std::get_if<ir::IndexRef>(&read->subscripts[d]->op);
      safe = safe && index != nullptr && stays_inside(graph.label(index->label), type.shape[d]);
    }
  });
  return safe;
}

}  // namespace

void Values::require_not_padded(const Tensor& t) {
  if (!t.padded) return;
  reports_.fail(DiagnosticId::kBadArgument, t.range, "pad(…) can only be subscripted, as in pad(A, v)[i - 1, j]");
}

Tensor Values::tensor_of(ValueId v, const std::string& name, const SourceRange& range) {
  const ir::Type type = graph_.program().type(v);
  Tensor t;
  t.range = range;
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < type.rank(); ++d) {
    t.labels.push_back(graph_.new_label());
    t.shape.push_back({type.shape[d], dimension_text(d, type.rank(), name), range});
    subscripts.push_back(ir::index_ref(t.labels.back()));
  }
  t.body = ir::read(type.scalar, v, std::move(subscripts), range);
  return t;
}

Tensor Values::tensor_of(ValueId v, const SourceRange& range) {
  const std::string& name = graph_.program().info(v).name;
  return tensor_of(v, name.empty() ? "this value" : name, range);
}

ValueId Values::materialise(const Tensor& t, const std::string& name, const SourceRange& range, const ir::Type* type,
                            Storage storage) {
  require_not_padded(t);
  if (type == nullptr) require_fits(t, Scalar::kI64, range);
  const bool given = type != nullptr && storage == Storage::kOfType;
  const auto whole = whole_value(t);
  // A slice from 0 on is also read in order, but not whole.
  const auto covered = [&](ValueId v) {
    return std::ranges::equal(graph_.program().type(v).shape, t.shape, {}, {}, &Dim::extent);
  };
  const bool same =
      whole && covered(*whole) && !graph_.waits(*whole) &&
      (type == nullptr || (graph_.program().type(*whole).shape == type->shape && t.scalar() == type->scalar)) &&
      (!given || graph_.program().type(*whole).format == type->format);
  if (same) {
    // Names the value of `A @ B` in `let C = A @ B;` C.
    ir::ValueInfo& info = graph_.program().values[static_cast<std::size_t>(whole->id)];
    if (!name.empty() && (temporaries_.erase(*whole) != 0 || info.name.empty())) info.name = name;
    return *whole;
  }
  ComputeSpec spec;
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    spec.out.push_back(graph_.new_label(type != nullptr ? type->shape[d] : t.shape[d].extent));
    subscripts.push_back(ir::index_ref(spec.out.back()));
  }
  spec.body = element(t, subscripts);
  if (type != nullptr) spec.body = converted(spec.body, type->scalar);
  spec.type.scalar = spec.body->type;
  for (const std::int32_t id : spec.out) spec.type.shape.push_back(graph_.label(id).end);
  spec.storage_given = given;
  if (given) spec.type.format = type->format;
  spec.name = name;
  spec.range = range;
  require_legal(spec.type, name, range);
  for (const std::int32_t id : labels_of(spec.body)) {
    const bool own = std::ranges::find(spec.out, id) != spec.out.end();
    if (!own)
      reports_.fail(DiagnosticId::kNotScalar, range,
                    "this depends on the index variable `" + graph_.label(id).name + "`; only scalars may do so here");
  }
  graph_.flush();
  check_bounds(spec);
  return graph_.emit(spec);
}

Tensor Values::hoist(ComputeSpec spec, std::vector<Dim> shape) {
  const std::vector<std::int32_t> own = spec.out;
  if (!guards_.empty() && !is_safe(spec.body, graph_)) spec.guard = both(guards_.all(), spec.guard);
  std::vector<std::int32_t> free;
  for (const Expr* part : {&spec.body, &spec.guard}) {
    for (const std::int32_t id : labels_of(*part)) {
      const bool bound =
          std::ranges::find(own, id) != own.end() || std::ranges::find(spec.reduce, id) != spec.reduce.end();
      if (!bound && std::ranges::find(free, id) == free.end()) free.push_back(id);
    }
  }
  std::ranges::sort(free);
  spec.out.insert(spec.out.begin(), free.begin(), free.end());
  bool resolved = free.empty();
  for (const std::int32_t id : spec.reduce) resolved = graph_.resolve(id) && resolved;
  // It may read deferred values although it mentions no index variable: with a false guard, only the guard remains.
  for (const Expr* part : {&spec.body, &spec.guard}) resolved = resolved && !(*part && graph_.reads_pending(*part));
  ValueId v;
  spec.type.shape.assign(free.size(), Extent());
  for (const Dim& d : shape) spec.type.shape.push_back(d.extent);
  if (resolved) {
    graph_.flush();
    check_bounds(spec);
    v = graph_.emit(spec);
  } else {
    v = graph_.wait(spec, free.size());
  }
  temporaries_.insert(v);
  Tensor t;
  t.range = spec.range;
  t.shape = std::move(shape);
  std::vector<Expr> subscripts;
  for (const std::int32_t id : free) subscripts.push_back(ir::index_ref(id));
  for (std::size_t d = 0; d < own.size(); ++d) {
    t.labels.push_back(graph_.new_label());
    subscripts.push_back(ir::index_ref(t.labels.back()));
  }
  t.body = ir::read(spec.type.scalar, v, std::move(subscripts), spec.range);
  return t;
}

Tensor Values::operand(const Tensor& t) {
  require_not_padded(t);
  Expr body = t.body;
  if (const auto* cast = std::get_if<ir::Cast>(&body->op)) body = cast->operand;
  if (std::holds_alternative<ir::Read>(body->op) || std::holds_alternative<ir::Constant>(body->op) ||
      reads_stored(body))
    return t;
  ComputeSpec spec;
  std::vector<Expr> subscripts;
  for (const Dim& d : t.shape) {
    spec.out.push_back(graph_.new_label(d.extent));
    subscripts.push_back(ir::index_ref(spec.out.back()));
  }
  spec.body = element(t, subscripts);
  spec.type.scalar = spec.body->type;
  spec.name = reports_.source_text(t.range);
  spec.range = t.range;
  return hoist(std::move(spec), t.shape);
}

namespace {

/// The message if the literal `value` of type `own`, i64 or u64, is no value of `to`; empty if it is one.
std::string misfit(Scalar own, std::int64_t value, Scalar to) {
  const bool large = own == Scalar::kU64 && value < 0;
  const std::string number = large ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
  const std::string begin = "the integer " + number + " does not fit " + std::string(ir::name_of(to));
  return rt::visit_element_type(to, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    if constexpr (!std::integral<T> || std::same_as<T, bool>) {
      return large ? begin + "; from 2^63 on, integers are literals of u64 alone" : "";
    } else {
      using Limits = std::numeric_limits<T>;
      if (large ? to == Scalar::kU64 : std::in_range<T>(value)) return "";
      const bool below = !large && value < 0;
      if (below && ir::is_unsigned(to)) return begin + ", which begins at 0";
      return begin + ", which ends at " + std::to_string(below ? Limits::min() : Limits::max());
    }
  });
}

}  // namespace

void Values::require_fits(const Tensor& t, Scalar to, const SourceRange& range) {
  if (t.weak != Weak::kInteger) return;
  const auto check = [&](const auto& self, const Expr& e) -> void {
    if (const auto* s = std::get_if<ir::Select>(&e->op)) {
      self(self, s->when_true);
      return self(self, s->when_false);
    }
    const auto value = integer_constant(e);
    const std::string message = value ? misfit(e->type, *value, to) : "";
    if (!message.empty()) reports_.fail(DiagnosticId::kIntegerOverflow, range, message);
  };
  check(check, t.body);
}

Common Values::common_type(const Common& a, const Tensor& b, const SourceRange& range) {
  const bool literal = a.weak != Weak::kNo || b.weak != Weak::kNo;
  if (!literal && !have_common_type(a.type, b.scalar())) {
    const Scalar other = a.type == Scalar::kU64 ? b.scalar() : a.type;
    reports_.fail(DiagnosticId::kTypeMismatch, range,
                  "u64 and " + std::string(ir::name_of(other)) +
                      " have no common type; cast one of them, as in i64(x) or u64(x)");
  }
  return frontend::common_type(a.type, a.weak, b.scalar(), b.weak);
}

Tensor Values::converted_to(const Tensor& t, Scalar to, const std::string& what, const SourceRange& range) {
  require_not_padded(t);
  require_fits(t, to, range);
  if (!converts(t, to)) {
    const std::string from(ir::name_of(t.scalar()));
    const std::string target(ir::name_of(to));
    const bool boolean = to == Scalar::kBool;
    reports_.fail(
        boolean ? DiagnosticId::kTypeMismatch : DiagnosticId::kNarrowing, range,
        what + " is " + target + ", but the value is " + from +
            (boolean                                             ? "; compare it: x != 0"
             : ir::is_complex(t.scalar()) && !ir::is_complex(to) ? "; its real part is real(z)"
                                                                 : "; narrowing needs a cast: " + target + "(…)"));
  }
  Tensor result = t;
  result.body = converted(t.body, to);
  result.weak = Weak::kNo;
  return result;
}

Expr Values::scalar_of_type(const Tensor& t, Scalar to, const std::string& what) {
  if (t.rank() != 0)
    reports_.fail(DiagnosticId::kNotScalar, t.range, what + " needs a scalar, but this is " + graph_.text(t));
  return converted_to(t, to, what, t.range).body;
}

void Values::require_legal(const ir::Type& type, const std::string& name, const SourceRange& range) {
  std::vector<std::int64_t> known;
  for (const Extent& e : type.shape) known.push_back(e.constant().value_or(1));
  if (!rt::is_legal_size(known, ir::size_of(type.scalar)))
    reports_.fail(DiagnosticId::kTooLarge, range,
                  (name.empty() ? "this" : "`" + name + "`") + " is " + graph_.text(type) +
                      ", which is too large: a tensor has at most 2^53 bytes");
}

void Values::check_bounds(const ComputeSpec& spec) {
  if (spec.guard || guards_.in_branch()) return;
  check_subscripts(spec.left, spec.type, spec.range);
  for_each_certain_read(spec.body, [&](const ir::ExprNode& node, const ir::Read& read) {
    if (!graph_.waits(read.tensor))
      check_subscripts(read.subscripts, graph_.program().type(read.tensor),
                       node.range.known() ? node.range : spec.range);
  });
  for_each_certain_node(spec.body, [&](const Expr& part) {
    const auto within = ir::within_of(part);
    const auto extent = within ? frontend::extent_of(within->extent, graph_.value_extent()) : std::nullopt;
    if (extent) check_subscripts({within->subscript}, ir::Type{Scalar::kI64, {*extent}, {}}, part->range);
  });
}

void Values::check_subscripts(const std::vector<Expr>& subscripts, const ir::Type& type, const SourceRange& place) {
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const auto affine = ir::affine_in_labels(subscripts[d], graph_.value_extent());
    if (!affine) continue;
    Extent least = affine->offset;
    Extent most = affine->offset;
    std::string ranges;
    bool known = true;
    for (const auto& [id, coefficient] : affine->coefficients) {
      const LabelInfo& label = graph_.label(id);
      known = known && label.resolved;
      // An empty range evaluates nothing; the range of a label that depends on others is only a hull.
      const auto length = (label.end - label.begin).constant();
      known = known && !(length && *length <= 0) && !label.lower;
      const bool rising = coefficient > 0;
      least = least + Extent(coefficient) * (rising ? label.begin : label.end - Extent(1));
      most = most + Extent(coefficient) * (rising ? label.end - Extent(1) : label.begin);
      ranges += (ranges.empty() ? " where " : " and ") + (label.name.empty() ? "the index" : label.name) +
                " runs over " + graph_.text(label.begin) + ".." + graph_.text(label.end);
    }
    if (!known) continue;
    const auto above = (most - type.shape[d]).constant();
    const auto below = least.constant();
    const bool high = above && *above >= 0;
    if (!high && !(below && *below < 0)) continue;
    reports_.fail(DiagnosticId::kOutOfBounds, subscripts[d]->range.known() ? subscripts[d]->range : place,
                  "this subscript reaches " + graph_.text(high ? most : least) + ranges + ", but dimension " +
                      std::to_string(d) + " has " + graph_.text(type.shape[d]) +
                      (type.shape[d].constant() == 1 ? " element" : " elements"));
  }
}

Tensor Values::temporary(ValueId v, const SourceRange& range) {
  note_temporary(v);
  return tensor_of(v, reports_.source_text(range), range);
}

}  // namespace tdsl::frontend
