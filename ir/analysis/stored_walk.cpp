#include "ir/analysis/stored_walk.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include "ir/analysis/lookups.h"
#include "ir/analysis/periodic.h"
#include "ir/analysis/support.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

template <class F>
void for_each_read_of_values(const Compute& c, const F& f) {
  for (const Expr& body : c.bodies) for_each_read(body, f);
  if (c.guard) for_each_read(c.guard, f);
}

std::vector<std::int32_t> labels_of(const Read& r) {
  std::vector<std::int32_t> labels;
  for (const Expr& subscript : r.subscripts) labels.push_back(bare_label(subscript));
  return labels;
}

template <class T>
bool contains(const std::vector<T>& list, const T& x) {
  return std::ranges::find(list, x) != list.end();
}

/// True if the expression reads an element of a tensor.
bool reads_elements(const Expr& e) {
  bool found = false;
  for_each_read(e, [&](const Read& r) { found = found || !r.subscripts.empty(); });
  return found;
}

bool depends_on_data(const Read& r) { return std::ranges::any_of(r.subscripts, reads_elements); }

/// True if elements of a large tensor are read at a position that is a function of labels by which no tile is cut
/// (`x[min(i, 2)]`): such reads are processed in panels (Note [Gathers]), with each point in one panel, which sparse
/// iteration does not support. Periodic subscripts later become two reads (passes/legalise/periodic_reads), and tensors
/// read under a condition are fetched whole.
bool meets_panels(const Program& program, const Compute& c) {
  // An expression of scalars only is a value computed before the operation; which value is irrelevant here.
  const Hoist is_value = [](const Expr& e) -> std::optional<ValueId> {
    if (const auto v = read_scalar(e)) return v;
    return mentions_labels(e) || reads_elements(e) || may_fail(e) ? std::nullopt : std::optional(ValueId{0});
  };
  const std::vector<Label> labels = all_labels(c);
  const TypeOf type = [&](ValueId v) -> const Type& { return program.type(v); };
  return std::ranges::any_of(lookups_of(c, type, is_value), [&](const Lookup& lookup) {
    const auto& r = std::get<Read>(lookup.read->op);
    bool panels = false;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d)
      panels = panels || (lookup.data[d] && !periodic_of(r.subscripts[d], labels, is_value));
    return panels && !lookup.conditional;
  });
}

bool fails(const Compute& c) { return std::ranges::any_of(c.bodies, may_fail) || (c.guard && may_fail(c.guard)); }

/// The value of elements for which no point is visited.
Expr identity_in(const Compute& c) {
  const Scalar type = c.bodies[0]->type;
  return c.monoid ? identity_of(*c.monoid, type) : zero_of(type);
}

/// True if elements without points have the identity as their value, so that sparse iteration may skip points.
bool starts_as_identity(const Compute& c) { return !c.fill || equal(c.fill, identity_in(c)); }

/// True if sparse iteration supports the Compute: each point once, and results initialised with the identity.
bool is_plain(const Program& program, const Compute& c) {
  const bool position = c.monoid && locates(*c.monoid);
  bool gathers = false;
  for_each_read_of_values(c, [&](const Read& r) { gathers = gathers || depends_on_data(r); });
  return c.bodies.size() == 1 && c.left.empty() && !c.base && !c.combine && !c.in_any_order && !position && !gathers &&
         !fails(c) && starts_as_identity(c) && !meets_panels(program, c);
}

/// True if an expression that is 0 because its support is false is 0 and not -0.
bool is_positive_zero(const Program& program, const Expr& e) {
  const auto positive = [&](const Expr& part) { return is_positive_zero(program, part); };
  if (!is_float(e->type)) return true;
  if (const auto* c = std::get_if<Constant>(&e->op)) return !std::signbit(std::get<double>(c->value));
  if (const auto* r = std::get_if<Read>(&e->op)) return program.type(r->tensor).has_sparse();
  if (const auto* u = std::get_if<Unary>(&e->op))
    return u->op == UnaryOp::kAbs || (u->op == UnaryOp::kSqrt && positive(u->operand));
  if (const auto* s = std::get_if<Select>(&e->op)) return positive(s->when_true) && positive(s->when_false);
  if (const auto* c = std::get_if<Cast>(&e->op)) return positive(c->operand);
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr) return false;
  switch (b->op) {
    case BinaryOp::kAbsentMul:
    case BinaryOp::kMutualMul:
    case BinaryOp::kAbsentDiv: return true;
    case BinaryOp::kAdd: return positive(b->left) || positive(b->right);
    case BinaryOp::kSub: return positive(b->left);
    case BinaryOp::kMin:
    case BinaryOp::kMax: return positive(b->left) && positive(b->right);
    default: return false;
  }
}

/// True if the index variable covers the whole dimension.
bool covers(const Compute& c, std::int32_t label, const Extent& extent) {
  const auto index = static_cast<std::size_t>(label);
  const Label& l = index < c.out.size() ? c.out[index] : c.reduce[index - c.out.size()];
  return l.begin == Extent(0) && l.end == extent;
}

/// The index variables of a read for iteration or lookup: plain, each once, over whole dimensions.
std::optional<StoredOperand> operand_of(const Program& program, const Compute& c, const Read& r) {
  const Type& type = program.type(r.tensor);
  if (!type.is_compressed() || r.subscripts.empty()) return std::nullopt;
  const StoredOperand operand{r.tensor, labels_of(r)};
  for (std::size_t d = 0; d < operand.labels.size(); ++d) {
    const std::int32_t label = operand.labels[d];
    if (label < 0 || std::ranges::count(operand.labels, label) > 1 || !covers(c, label, type.shape[d]))
      return std::nullopt;
  }
  return operand;
}

/// True if a user's reduction combines values in index order: iterated labels first, then dense ones.
bool keeps_order(const Compute& c, const StoredWalk& walk) {
  if (!c.monoid || c.monoid->kind != Monoid::Kind::kUser) return true;
  std::size_t next = c.out.size();
  for (const StoredLoop& loop : walk.loops) {
    if (static_cast<std::size_t>(loop.label) >= c.out.size() && static_cast<std::size_t>(loop.label) != next++)
      return false;
  }
  return true;
}

/// True if the support may hold where the operands' elements are absent.
bool holds_without(const Support& s, const std::vector<Expr>& reads, const std::vector<StoredOperand>& operands) {
  std::vector<bool> present;
  for (const Expr& e : reads) {
    const auto* r = std::get_if<Read>(&e->op);
    present.push_back(r == nullptr || !contains(operands, StoredOperand{r->tensor, labels_of(*r)}));
  }
  return holds(s, present);
}

/// Tries all subsets of at least two elements, smallest first, in the order of the list.
template <class F>
bool any_subset(const std::vector<StoredOperand>& list, const F& f) {
  const std::size_t subsets = std::size_t{1} << list.size();
  for (int count = 2; count <= static_cast<int>(list.size()); ++count) {
    for (std::size_t mask = 0; mask < subsets; ++mask) {
      if (std::popcount(mask) != count) continue;
      std::vector<StoredOperand> subset;
      for (std::size_t k = 0; k < list.size(); ++k) {
        if ((mask >> k & 1) != 0) subset.push_back(list[k]);
      }
      if (f(subset)) return true;
    }
  }
  return false;
}

/// Maximum number of operands iterated together.
constexpr std::size_t kMostJoint = 8;

class Walks {
 public:
  Walks(const Program& program, const Compute& compute)
      : program_(program), c_(compute), guards_(program, Products::kExplicit) {
    support_ = support_of(program, compute, &reads_);
    guard_ = guards_.of(compute.guard);
    zero_is_positive_ = compute.monoid || is_positive_zero(program, compute.bodies[0]);
    const auto add = [&](const Read& r) {
      const auto operand = operand_of(program, compute, r);
      if (operand && !contains(operands_, *operand)) operands_.push_back(*operand);
    };
    for (const Expr& e : reads_) {
      if (const auto* r = std::get_if<Read>(&e->op)) add(*r);
    }
    for_each_read_of_values(compute, add);
  }

  /// Among the needed operands, the driver is one with the most dimensions: it has the smallest fraction of its points
  /// stored and is the most expensive to copy. Ties: the one whose iteration covers the most operands, then the first.
  /// If no single operand is needed, a joint iteration over several of which one is needed.
  std::optional<StoredWalk> best() {
    std::vector<StoredOperand> drivers = operands_;
    std::ranges::stable_sort(drivers, std::greater(), [](const StoredOperand& driver) { return driver.labels.size(); });
    std::optional<StoredWalk> best;
    for (const StoredOperand& driver : drivers) {
      if (best && driver.labels.size() < best->driver().labels.size()) break;
      const auto walk = are_needed({driver}) ? driven_by(driver) : std::nullopt;
      if (walk && (!best || walk->operands.size() > best->operands.size())) best = walk;
    }
    return best ? best : joint();
  }

 private:
  [[nodiscard]] static bool is_matrix(const StoredOperand& operand) { return operand.labels.size() == 2; }

  /// True if a point where all these operands' elements are absent does not contribute.
  [[nodiscard]] bool are_needed(const std::vector<StoredOperand>& operands) {
    if (holds_without(support_, reads_, operands)) return false;
    // Without a reduction, unvisited elements are 0: bitwise the value of the body.
    return zero_is_positive_ || !holds_without(guard_, guards_.reads(), operands);
  }

  /// All operands read with these labels.
  [[nodiscard]] std::vector<StoredOperand> with_labels(const std::vector<std::int32_t>& labels) const {
    std::vector<StoredOperand> found;
    std::ranges::copy_if(operands_, std::back_inserter(found),
                         [&](const StoredOperand& other) { return other.labels == labels; });
    return found;
  }

  /// Iterates over the union of several operands with the same labels.
  std::optional<StoredWalk> joint() {
    std::vector<std::vector<std::int32_t>> tried;
    for (const StoredOperand& first : operands_) {
      if (contains(tried, first.labels)) continue;
      tried.push_back(first.labels);
      const std::vector<StoredOperand> all = with_labels(first.labels);
      std::vector<StoredOperand> needed;
      if (all.size() > kMostJoint ||
          !any_subset(all, [&](const std::vector<StoredOperand>& subset) { return are_needed(needed = subset); }))
        continue;
      // Merging the other operands, too, costs less than looking them up.
      StoredWalk walk{needed, {}, {}, StoredWalk::Result::kDense};
      std::ranges::copy_if(all, std::back_inserter(walk.operands),
                           [&](const StoredOperand& other) { return !contains(needed, other); });
      add_loops(walk, StoredLoop::Meet::kAny);
      walk.result = result_of(walk);
      const bool complete =
          std::ranges::all_of(walk.operands, [&](const StoredOperand& o) { return reads_walked(c_, walk, o.tensor); });
      if (complete && keeps_order(c_, walk)) return walk;
    }
    return std::nullopt;
  }

  /// Tensors also read at coordinates outside the iteration are treated as dense.
  [[nodiscard]] std::optional<StoredWalk> driven_by(const StoredOperand& driver) {
    std::set<ValueId> left_out;
    while (true) {
      StoredWalk walk = with_operands(driver, left_out);
      const auto partly = std::ranges::find_if(
          walk.operands, [&](const StoredOperand& o) { return !reads_walked(c_, walk, o.tensor); });
      if (partly != walk.operands.end()) {
        if (partly->tensor == driver.tensor) return std::nullopt;
        left_out.insert(partly->tensor);
        continue;
      }
      if (keeps_order(c_, walk)) return walk;
      // Retry with the driver alone.
      const std::size_t before = left_out.size();
      for (const StoredOperand& o : walk.operands) {
        if (o.tensor != driver.tensor) left_out.insert(o.tensor);
      }
      if (left_out.size() == before) return std::nullopt;
    }
  }

  /// Iterates over the driver's elements; operands read at the same coordinates are included.
  [[nodiscard]] StoredWalk with_operands(const StoredOperand& driver, const std::set<ValueId>& left_out) {
    StoredWalk walk;
    walk.operands.push_back(driver);
    std::ranges::copy_if(
        with_labels(driver.labels), std::back_inserter(walk.operands),
        [&](const StoredOperand& other) { return !(other == driver) && !left_out.contains(other.tensor); });
    if (walk.operands.size() > kMostJoint) walk.operands.resize(1);
    const bool all =
        std::ranges::all_of(walk.operands, [&](const StoredOperand& other) { return are_needed({other}); });
    add_loops(walk, all ? StoredLoop::Meet::kAll : StoredLoop::Meet::kFirst);
    while (const StoredOperand* next = located(walk, left_out)) {
      const std::size_t level = levels_run(walk, *next);
      const auto known = std::ranges::find(walk.operands, *next);
      const auto number = static_cast<int>(known - walk.operands.begin());
      if (known == walk.operands.end()) walk.operands.push_back(*next);
      walk.loops.push_back({next->labels[level], {number}});
    }
    // Operands whose labels are all iterated are looked up.
    for (const StoredOperand& other : operands_) {
      if (left_out.contains(other.tensor) || levels_run(walk, other) < other.labels.size() ||
          contains(walk.operands, other))
        continue;
      if (are_needed({other})) walk.masks.push_back(static_cast<int>(walk.operands.size()));
      walk.operands.push_back(other);
    }
    walk.result = result_of(walk);
    return walk;
  }
  /// Adds loops over all present operands together.
  static void add_loops(StoredWalk& walk, StoredLoop::Meet meet) {
    std::vector<int> over(walk.operands.size());
    std::iota(over.begin(), over.end(), 0);
    for (const std::int32_t label : walk.driver().labels)
      walk.loops.push_back({label, over, over.size() == 1 ? StoredLoop::Meet::kAny : meet});
  }

  /// An operand with some, but not all, levels iterated; among several, the one whose last iterated level is innermost.
  [[nodiscard]] const StoredOperand* located(const StoredWalk& walk, const std::set<ValueId>& left_out) {
    const StoredOperand* best = nullptr;
    std::size_t innermost = 0;
    for (const StoredOperand& o : operands_) {
      const std::size_t level = levels_run(walk, o);
      if (!is_matrix(o) || level == 0 || level == o.labels.size() || walk.has_loop(o.labels[level]) ||
          left_out.contains(o.tensor) || !are_needed({o}))
        continue;
      if (is_walked_jointly(walk, o.tensor)) continue;  // a kernel iterates over an operand in one way only
      if (is_out(o.labels[level]) && !is_out(walk.row()) &&
          std::ranges::any_of(walk.loops, [&](const StoredLoop& loop) { return is_out(loop.label); }))
        continue;  // avoids a task that holds a whole matrix
      const std::size_t depth = depth_of(walk, o.labels[level - 1]);
      if (best != nullptr && depth <= innermost) continue;
      best = &o;
      innermost = depth;
    }
    return best;
  }
  [[nodiscard]] static bool is_walked_jointly(const StoredWalk& walk, ValueId tensor) {
    const std::vector<int>& together = walk.loops.front().over;
    return together.size() > 1 && std::ranges::any_of(together, [&](int k) {
             return walk.operands[static_cast<std::size_t>(k)].tensor == tensor;
           });
  }
  [[nodiscard]] bool is_out(std::int32_t label) const { return static_cast<std::size_t>(label) < c_.out.size(); }
  /// Number of the operand's levels, from the outermost one, that are iterated by loops in the same order.
  [[nodiscard]] static std::size_t levels_run(const StoredWalk& walk, const StoredOperand& operand) {
    std::size_t level = 0, from = 0;
    for (; level < operand.labels.size(); ++level) {
      const std::size_t depth = depth_of(walk, operand.labels[level]);
      if (depth < from || depth == walk.loops.size()) return level;
      from = depth + 1;
    }
    return level;
  }
  [[nodiscard]] static std::size_t depth_of(const StoredWalk& walk, std::int32_t label) {
    const auto loop = std::ranges::find(walk.loops, label, &StoredLoop::label);
    return static_cast<std::size_t>(loop - walk.loops.begin());
  }

  [[nodiscard]] StoredWalk::Result result_of(const StoredWalk& walk) const {
    if (!equal(identity_in(c_), zero_of(c_.bodies[0]->type)) || c_.out.empty() || walk.loops.size() < c_.out.size())
      return StoredWalk::Result::kDense;
    // Levels of other operands restart for each element of the driver.
    bool in_order = c_.out.size() <= walk.driver().labels.size();
    for (std::size_t d = 0; d < c_.out.size() && in_order; ++d)
      in_order = in_order && walk.loops[d].label == static_cast<std::int32_t>(d);
    // Accumulation starts from absent elements: sums and `any`.
    const bool adds = c_.monoid && (c_.monoid->kind == Monoid::Kind::kSum || c_.monoid->kind == Monoid::Kind::kAny);
    const bool by_rows = adds && c_.out.size() == 2 && walk.row() == 0 && walk.has_loop(1);
    return in_order  ? StoredWalk::Result::kInOrder
           : by_rows ? StoredWalk::Result::kAccumulated
                     : StoredWalk::Result::kDense;
  }

  const Program& program_;
  const Compute& c_;
  std::vector<Expr> reads_;
  std::vector<StoredOperand> operands_;  ///< operands of the support first
  Support support_;
  SupportFinder guards_;
  Support guard_;
  bool zero_is_positive_ = false;
};

}  // namespace

bool StoredWalk::has_loop(std::int32_t label) const {
  return std::ranges::any_of(loops, [&](const StoredLoop& loop) { return loop.label == label; });
}

bool StoredWalk::is_union() const {
  return std::ranges::any_of(
      loops, [](const StoredLoop& loop) { return loop.over.size() > 1 && loop.meet == StoredLoop::Meet::kAny; });
}

bool reads_walked(const Compute& compute, const StoredWalk& walk, ValueId tensor) {
  bool found = false, same = true;
  for_each_read_of_values(compute, [&](const Read& r) {
    if (r.tensor != tensor) return;
    found = true;
    const std::vector<std::int32_t> labels = labels_of(r);
    same = same && (labels == walk.driver().labels || contains(walk.operands, StoredOperand{tensor, labels}));
  });
  return found && same;
}

std::optional<StoredWalk> stored_walk(const Program& program, const Compute& compute) {
  bool any = false;
  for_each_read_of_values(compute, [&](const Read& r) { any = any || program.type(r.tensor).is_compressed(); });
  if (!any || !is_plain(program, compute)) return std::nullopt;
  return Walks(program, compute).best();
}

}  // namespace tdsl::ir
