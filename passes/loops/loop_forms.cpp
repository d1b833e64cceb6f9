#include "passes/loops/loop_forms.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "ir/analysis/serial_loop.h"
#include "ir/graph/affine.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/procedure.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_loop(const Node& n) { return std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op); }

/// Calls `f` on every node inside `node`.
void for_each_inner(const Node& node, const std::function<void(const Node&)>& f) {
  for (const Region* r : regions_in(node)) for_each_node(*r, f);
}

/// Defining expressions of the scalars inside a loop.
using Scalars = std::map<ValueId, Expr>;

Scalars scalars_in(const Node& loop) {
  Scalars scalars;
  for_each_inner(loop, [&](const Node& n) {
    const auto* c = std::get_if<Compute>(&n.op);
    if (c != nullptr && c->out.empty() && is_elementwise(*c)) scalars.emplace(n.results[0], c->bodies[0]);
  });
  return scalars;
}

/// Upper (lower) bounds of `e`: the operands of `min` (`max`).
std::vector<Extent> limits_of(const Extent& e, BinaryOp op, const Scalars& scalars) {
  const auto value = e.as_value();
  const auto found = value ? scalars.find(*value) : scalars.end();
  if (found == scalars.end()) return {e};
  std::vector<Extent> limits;
  const auto* b = std::get_if<Binary>(&found->second->op);
  const auto add = [&](const Expr& part) {
    if (const auto extent = extent_of(part)) limits.push_back(*extent);
  };
  if (b != nullptr && b->op == op) {
    add(b->left);
    add(b->right);
  } else {
    add(found->second);
  }
  return limits;
}

/// True if tensor elements determine the value, as in `rp[i]..rp[i + 1]`.
bool is_data(const Extent& e, const Program& program, const Scalars& scalars) {
  return std::ranges::any_of(e.values(), [&](ValueId v) {
    const auto found = scalars.find(v);
    if (found == scalars.end()) return false;
    bool data = false;
    for_each_read(found->second, [&](const Read& r) {
      data = data || program.type(r.tensor).rank() > 0 || is_data(Extent::of(r.tensor), program, scalars);
    });
    return data;
  });
}

/// Estimated extent of the label in sizes: its own extent, that of the window `max(0, i - h)..min(n, i + h + 1)`, or
/// half of a dimension that it subscripts, on average.
std::optional<Extent> values_of(const Program& program, const Node& node, const Compute& c, std::int32_t label,
                                const Sizes& sizes, const Scalars& scalars) {
  const auto outs = static_cast<std::int32_t>(c.out.size());
  const Label& l =
      label < outs ? c.out[static_cast<std::size_t>(label)] : c.reduce[static_cast<std::size_t>(label - outs)];
  if (const auto own = sizes.of(l.end - l.begin)) return own;
  // Only windows whose bounds both depend on outer loops; a fixed bound is less precise.
  for (const Extent& end : limits_of(l.end, BinaryOp::kMin, scalars)) {
    for (const Extent& begin : limits_of(l.begin, BinaryOp::kMax, scalars)) {
      const auto window = sizes.of(end) ? std::nullopt : sizes.of(end - begin);
      if (window) return window;
    }
  }
  // Data-dependent ranges are assumed short, like rows of a sparse matrix.
  if (is_data(l.begin, program, scalars) && is_data(l.end, program, scalars)) return Extent(1);
  std::optional<Extent> found;
  const auto subscripts = [&](const std::vector<Expr>& list, const Type& type) {
    for (std::size_t d = 0; d < list.size() && !found; ++d) {
      if (mentions_label(list[d], label)) found = sizes.of(type.shape[d]);
    }
  };
  if (!c.left.empty()) subscripts(c.left, program.type(node.results[0]));
  for (const Expr& body : c.bodies)
    for_each_read(body, [&](const Read& r) { subscripts(r.subscripts, program.type(r.tensor)); });
  // The range depends on outer loops and varies from empty to full: half on average.
  return found ? std::optional(Extent::quotient(*found, 2)) : std::nullopt;
}

/// Cost of one point of the Compute in plain points: functions such as exp cost several additions, a procedure its
/// number of operations.
std::int64_t weight_of(const Compute& c) {
  constexpr std::int64_t kPlain = 4;  // operations per plain point
  std::int64_t operations = 0;
  for (const Expr& body : c.bodies) {
    for_each_node(body, [&](const ExprNode& n) {
      const auto* u = std::get_if<Unary>(&n.op);
      const auto* b = std::get_if<Binary>(&n.op);
      const auto* a = std::get_if<Apply>(&n.op);
      if ((u != nullptr && is_library_function(u->op)) || (b != nullptr && is_library_function(b->op)))
        operations += 3 * kPlain;
      if (b != nullptr && b->op == BinaryOp::kPow && is_float(n.type)) operations += 6 * kPlain;
      if (a != nullptr) operations += static_cast<std::int64_t>(std::min(operations_of(*a->procedure), 1e9));
    });
  }
  return 1 + operations / kPlain;
}

/// Total points of the tensor statements in the loop, counted once per statement; number of statements; total number of
/// statement runs; bytes of all tensors that the loop reads or changes.
struct Work {
  Extent points;
  std::int64_t statements = 0;
  Extent runs;
  Extent bytes;
};

/// Tensors defined outside that the loop mentions.
std::set<ValueId> outer_tensors(const Program& program, const Node& loop) {
  std::set<ValueId> tensors = mentioned(program, loop);
  const auto inside = [&](const std::vector<ValueId>& values) {
    for (const ValueId v : values) tensors.erase(v);
  };
  const auto node = [&](const Node& n) {
    inside(n.results);
    for (const Region* r : regions_in(n)) inside(r->arguments);
  };
  node(loop);
  for_each_inner(loop, node);
  std::erase_if(tensors, [&](ValueId v) { return program.type(v).rank() == 0; });
  return tensors;
}

/// Iterations of a loop inside a loop of `around` iterations.
Extent iterations_of(const Node& loop, const Extent& around, const Sizes& sizes) {
  constexpr std::int64_t kUntilData = 64;
  const auto* f = std::get_if<For>(&loop.op);
  if (f == nullptr) return kUntilData;
  const std::int64_t step = std::abs(f->step);
  const Extent first = Extent::of(f->step > 0 ? f->begin : f->end);
  const Extent last = Extent::of(f->step > 0 ? f->end : f->begin);
  if (const auto all = sizes.of(last - first)) return Extent::quotient(*all, step);
  // The range starts or ends at the index of an outer loop: half on average.
  return Extent::quotient(sizes.of(last).value_or(around), 2 * step);
}

/// True if the node takes an operation of its own, unlike arithmetic on scalars.
bool is_tensor_statement(const Node& n) {
  const auto* c = std::get_if<Compute>(&n.op);
  return std::holds_alternative<Routine>(n.op) || (c != nullptr && !(c->out.empty() && c->reduce.empty()));
}

/// Total number of runs of the loop's tensor statements.
Extent runs_of(const Node& loop, const Extent& around, const Sizes& sizes) {
  const Extent often = iterations_of(loop, around, sizes);
  Extent runs;
  const auto region = [&](const auto& self, const Region& r) -> void {
    for (const Node& n : r.nodes) {
      if (is_tensor_statement(n)) runs = runs + Extent(1);
      if (is_loop(n)) {
        runs = runs + runs_of(n, often, sizes);
      } else {
        for (const Region* inner : regions_in(n)) self(self, *inner);
      }
    }
  };
  for (const Region* r : regions_in(loop)) region(region, *r);
  return often * runs;
}

/// Dimensions and params in the extents of the loop's square tensors.
std::set<ValueId> square_sizes(const Program& program, const Node& loop, const Sizes& sizes) {
  std::set<ValueId> found;
  const auto look = [&](const std::vector<ValueId>& tensors) {
    for (const ValueId v : tensors) {
      const std::vector<Extent>& shape = program.type(v).shape;
      for (std::size_t d = 1; d < shape.size(); ++d) {
        const auto extent = sizes.of(shape[d]);
        if (!extent || sizes.of(shape[d - 1]) != extent) continue;
        for (const ValueId size : extent->values()) found.insert(size);
      }
    }
  };
  for_each_inner(loop, [&](const Node& n) {
    look(n.results);
    look(operands_of(program, n));
  });
  return found;
}

/// Routines on matrices in a loop.
struct Routines {
  Extent points;          ///< cost of all of them in plain points
  bool symbolic = false;  ///< the size of some matrix is known at the start only
};

/// Nothing if an extent is unknown.
std::optional<Routines> routines_in(const Program& program, const Node& loop, const Sizes& sizes) {
  constexpr std::int64_t kSweeps = 8;  // of rotations, for eigenvectors
  Routines routines;
  bool known = true;
  for_each_inner(loop, [&](const Node& n) {
    const auto* r = std::get_if<Routine>(&n.op);
    if (r == nullptr) return;
    const std::vector<Extent>& right = program.type(r->operands.back()).shape;
    const auto size = sizes.of(program.type(r->operands.front()).shape.front());
    const auto columns = right.size() < 2 ? std::optional(Extent(1)) : sizes.of(right.back());
    known = known && size && columns;
    if (!size || !columns) return;
    routines.symbolic = routines.symbolic || !size->constant();
    const Extent times = r->kind == Routine::Kind::kEigh ? Extent(kSweeps) * *size : *size + *columns;
    routines.points = routines.points + *size * *size * times;
  });
  return known ? std::optional(std::move(routines)) : std::nullopt;
}

std::optional<Work> work_of(const Program& program, const Node& loop, const Sizes& sizes) {
  Work work;
  const Scalars scalars = scalars_in(loop);
  bool known = true;
  Extent elements;
  for (const ValueId v : outer_tensors(program, loop)) {
    Extent volume(1);
    for (const Extent& e : program.type(v).shape) {
      const auto extent = sizes.of(e);
      known = known && extent;
      if (extent) volume = volume * *extent;
    }
    elements = elements + volume;
    work.bytes = work.bytes + Extent(size_of(program.type(v).scalar)) * volume;
  }
  for_each_inner(loop, [&](const Node& n) {
    if (!is_tensor_statement(n)) return;
    ++work.statements;
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr) return;
    Extent points(1);
    bool counted = true;
    for (std::int32_t label = 0; label < static_cast<std::int32_t>(c->out.size() + c->reduce.size()); ++label) {
      const auto values = values_of(program, n, *c, label, sizes, scalars);
      counted = counted && values;
      if (values) points = points * *values;
    }
    // A statement of unknown size is assumed to be as large as all tensors of the loop together.
    work.points = work.points + Extent(weight_of(*c)) * (counted ? points : elements);
  });
  const auto routines = routines_in(program, loop, sizes);
  if (!known || !routines) return std::nullopt;
  if (routines->symbolic) {
    // Statements over dimensions of other than square tensors, such as rows of data, are large next to the matrices.
    const std::set<ValueId> small = square_sizes(program, loop, sizes);
    const std::vector<ValueId> all = work.points.values();
    if (!std::ranges::all_of(all, [&](ValueId v) { return small.contains(v); })) return std::nullopt;
  }
  work.points = work.points + routines->points;
  work.runs = runs_of(loop, Extent(1), sizes);
  return work;
}

}  // namespace

void KnownScalars::note(const Node& node) {
  for (const ValueId v : node.results) values_.erase(v);
  const auto* c = std::get_if<Compute>(&node.op);
  if (c == nullptr || !c->out.empty() || !is_elementwise(*c)) return;
  if (const auto extent = extent_of(c->bodies[0])) values_.emplace(node.results[0], resolved(*extent));
}

Extent KnownScalars::resolved(const Extent& e) const {
  return substitute_if_small(e,
                             [&](ValueId v) -> std::optional<Extent> {
                               const auto found = values_.find(v);
                               return found == values_.end() ? std::nullopt : std::optional(found->second);
                             })
      .value_or(e);
}

Sizes::Sizes(const Program& program, std::function<Extent(const Extent&)> resolved) : resolved_(std::move(resolved)) {
  const auto is_known = [&](const Node& n) {
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr || !c->out.empty() || !is_elementwise(*c) || program.type(n.results[0]).scalar != Scalar::kI64)
      return std::holds_alternative<Dimension>(n.op) || std::holds_alternative<Param>(n.op);
    return !any_read(c->bodies[0], [this](const Read& r) { return !known_.contains(r.tensor); });
  };
  for (const Node& n : program.body.nodes) {
    if (is_known(n)) known_.insert(n.results.begin(), n.results.end());
  }
}

std::optional<Extent> Sizes::of(const Extent& e) const {
  Extent result = resolved_(e);
  const std::vector<ValueId> values = result.values();
  const bool known = std::ranges::all_of(values, [&](ValueId v) { return known_.contains(v); });
  return known ? std::optional(std::move(result)) : std::nullopt;
}

bool has_task_form(const Program& program, const Node& node) {
  if (!is_loop(node)) return false;
  bool nested = false;
  bool effects = false;
  for_each_inner(node, [&](const Node& n) {
    nested = nested || std::holds_alternative<For>(n.op);
    effects = effects || is_effect(n);
  });
  return nested && !effects && !why_not_serial(program, node);
}

namespace {

/// Evaluates in f64: products of sizes may overflow i64.
Expr as_float(const Expr& e) {
  if (const auto* b = std::get_if<Binary>(&e->op)) {
    if (b->op == BinaryOp::kAdd || b->op == BinaryOp::kSub || b->op == BinaryOp::kMul)
      return binary(b->op, as_float(b->left), as_float(b->right));
  }
  if (const auto* c = std::get_if<Constant>(&e->op))
    return constant(Scalar::kF64, static_cast<double>(std::get<std::int64_t>(c->value)));
  return cast(Scalar::kF64, e);
}

/// Selects `task` if the work is small, else `statements`; a single variant if that is known at compile time. `task`
/// has the outer names of `statements`, but its own inner names.
std::vector<Node> chosen_by_size(Program& program, Node task, Node statements, const Work& work) {
  Expr small_enough;
  const auto bytes = work.bytes.constant();
  const bool few_bytes = bytes && *bytes <= kGatheredBytes;
  const Extent paid = few_bytes ? work.bytes : Extent(kGatheredBytes) + Extent(kBytesPerRun) * work.runs;
  std::vector<std::pair<Extent, Extent>> limits{
      {work.points, kTaskPoints * work.statements}, {work.bytes, kTaskBytes}, {work.bytes, paid}};
  for (const auto& [amount, most] : limits) {
    const auto room = (most - amount).constant();
    if (room && *room < 0) return {std::move(statements)};
    const bool implied = std::ranges::any_of(limits, [&](const auto& other) {
      const auto slack = (most - other.second).constant();
      return other.first == amount && slack && *slack > 0;
    });
    if (room || implied) continue;
    small_enough =
        conjunction_of(small_enough, binary(BinaryOp::kLe, as_float(ir::expr_of(amount)), as_float(ir::expr_of(most))));
  }
  if (!small_enough) {
    task.results = statements.results;
    return {std::move(task)};
  }
  std::vector<Node> nodes;
  const SourceRange range = statements.range;
  const ValueId small = program.new_value({Scalar::kBool, {}, {}}, "small", range);
  Compute compare;
  compare.bodies.push_back(small_enough);
  nodes.push_back({range, {small}, std::move(compare)});
  const std::vector<ValueId> results = statements.results;
  for (ValueId& v : statements.results) {
    const ValueInfo info = program.info(v);
    v = program.new_value(info.type, info.name, info.range);
  }
  If branch{small, {}, {}};
  branch.then_region.yields = task.results;
  branch.else_region.yields = statements.results;
  branch.then_region.nodes.push_back(std::move(task));
  branch.else_region.nodes.push_back(std::move(statements));
  nodes.push_back({range, results, std::move(branch)});
  return nodes;
}

}  // namespace

std::vector<Node> two_forms(Program& program, const Node& task, Node statements, const Sizes& sizes) {
  const auto work = why_not_serial(program, statements) ? work_of(program, statements, sizes) : std::nullopt;
  if (!work || work->statements == 0) return {std::move(statements)};
  // Clones the task: values inside the loop may have been replaced in the other variant.
  Renaming names;
  return chosen_by_size(program, cloned(program, task, names), std::move(statements), *work);
}

std::vector<Node> two_forms_of_tensors(Program& program, Node loop, const Sizes& sizes) {
  const auto work = why_not_serial(program, loop, SerialWork::kTensors) ? std::nullopt : work_of(program, loop, sizes);
  if (!work) return {std::move(loop)};
  Renaming names;
  Node task = copied(program, loop, names);
  if (auto* f = std::get_if<For>(&task.op)) f->serial = true;
  if (auto* w = std::get_if<While>(&task.op)) w->serial = true;
  return chosen_by_size(program, std::move(task), std::move(loop), *work);
}

}  // namespace tdsl::passes
