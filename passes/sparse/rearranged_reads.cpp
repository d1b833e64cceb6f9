#include "passes/sparse/rearranged_reads.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "ir/analysis/iteration_rules.h"
#include "ir/analysis/periodic.h"
#include "ir/analysis/rearrangement.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/loops/subscripts.h"
#include "passes/rewriting.h"
#include "passes/sparse/iteration.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// A read of a matrix, or a choice between reads, that a separate matrix may replace.
struct MovedRead {
  Expr read;
  std::array<std::int32_t, 2> labels{};  ///< -1: a constant subscript
  bool as_it_is = false;                 ///< the subscripts are index variables over whole dimensions
};

/// A Compute with replaced reads, and the new matrices that it reads.
struct Changed {
  Compute compute;
  std::vector<std::pair<ValueId, Compute>> made;
};

class Changer {
 public:
  /// Adds new values to `program`, in which all candidates are marked.
  Changer(Program& program, const Compute& c) : program_(program), compute_(c) {}

  /// Nullopt if the Compute already iterates over its matrices, or cannot. `compressed_result`: its result must be
  /// compressed afterwards.
  std::optional<Changed> run(bool compressed_result) {
    if (compute_.bodies.size() != 1 || compute_.in_any_order || !compute_.left.empty() || compute_.base ||
        !find_parts())
      return std::nullopt;
    // Iterating over several matrices is better than over one with dense copies of the others.
    const Reach now = reach(compute_, compressed_result);
    if (now == Reach::kAll || (compressed_result && (now == Reach::kSome || rearrangement(program_, compute_))))
      return std::nullopt;
    std::vector<std::size_t> turned;
    for (std::size_t mask = 0; mask < std::size_t{1} << parts_.size(); ++mask) turned.push_back(mask);
    std::ranges::stable_sort(turned, {}, [](std::size_t mask) { return std::popcount(mask); });
    for (const std::size_t mask : turned) {
      const std::size_t values = program_.values.size();
      std::optional<Changed> changed = change(mask);
      const Reach then = changed && !changed->made.empty() ? reach(changed->compute, compressed_result) : Reach::kNone;
      const bool enough = then == Reach::kAll || (then == Reach::kSome && (compressed_result || mask == 0));
      if (enough && then > now) return changed;
      program_.values.resize(values);
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kMostParts = 3;

  /// The share of its candidate matrices over which a Compute iterates.
  enum class Reach : std::uint8_t { kNone, kSome, kAll };
  [[nodiscard]] Reach reach(const Compute& c, bool compressed_result) const {
    const auto iteration = sparse_iteration(program_, c, compressed_result);
    if (!iteration || iteration->loops.empty() ||
        (compressed_result && iteration->result == SparseIteration::Result::kDense))
      return Reach::kNone;
    const std::set<ValueId> read = values_read(c);
    const bool all = std::ranges::all_of(read, [&](ValueId v) {
      return !program_.type(v).is_compressed() || program_.type(v).rank() != 2 || visits(c, *iteration, v);
    });
    return all ? Reach::kAll : Reach::kSome;
  }

  /// Collects the reads of candidate matrices; false if there is none, or one of them cannot be moved.
  bool find_parts() {
    const std::set<ValueId> values = values_read(compute_);
    if (std::ranges::none_of(values, [this](ValueId v) { return program_.type(v).is_compressed(); })) return false;
    bool fits = find_parts(compute_.bodies[0], static_cast<bool>(compute_.guard));
    if (compute_.guard) fits = find_parts(compute_.guard, false) && fits;
    return fits && !parts_.empty() && parts_.size() <= kMostParts;
  }
  /// `conditional`: not evaluated at all points.
  bool find_parts(const Expr& e, bool conditional) {
    if (const auto* s = std::get_if<Select>(&e->op))
      return add_choice(e) || (find_parts(s->condition, conditional) && find_parts(s->when_true, true) &&
                               find_parts(s->when_false, true));
    if (const auto* b = std::get_if<Binary>(&e->op); b != nullptr && is_logical(b->op))
      return find_parts(b->left, conditional) && find_parts(b->right, true);
    const auto* r = std::get_if<Read>(&e->op);
    if (r == nullptr)
      return std::ranges::all_of(children(*e), [&](const Expr& child) { return find_parts(child, conditional); });
    return !program_.type(r->tensor).is_compressed() || program_.type(r->tensor).rank() != 2 ||
           add_part(e, *r, conditional);
  }
  bool add_part(const Expr& e, const Read& r, bool conditional) {
    const std::vector<const Label*> ranges = passes::labels_of(compute_);
    // The separate matrix evaluates the read at all elements.
    if (conditional && read_may_fail(program_, r, ranges)) return false;
    if (std::ranges::any_of(parts_, [&](const MovedRead& p) { return equal(p.read, e); })) return true;
    std::optional<MovedRead> part = part_of(e, r);
    if (part) parts_.push_back(std::move(*part));
    return part.has_value();
  }

  /// Moves `select(i < n, A[i, j], B[i - n, j])` into one matrix.
  bool add_choice(const Expr& e) {
    if (std::ranges::any_of(parts_, [&](const MovedRead& p) { return equal(p.read, e); })) return true;
    MovedRead part{e};
    bool compressed = true;
    const Read* first = nullptr;
    for_each_read(e, [&](const Read& r) {
      if (r.subscripts.empty()) return;
      first = first == nullptr ? &r : first;
      compressed = compressed && program_.type(r.tensor).is_compressed();
    });
    if (first == nullptr || !compressed || first->subscripts.size() != 2) return false;
    const std::vector<Label> labels = all_labels(compute_);
    std::vector<Expr> dimensions(labels.size());
    Compute alone;
    for (std::size_t d = 0; d < 2; ++d) {
      const std::optional<Affine> form = affine_of(first->subscripts[d], read_scalar);
      if (!form || form->terms.size() != 1) return false;
      part.labels[d] = form->terms[0].label;
      const auto label = static_cast<std::size_t>(part.labels[d]);
      dimensions[label] = index_ref(static_cast<std::int32_t>(d));
      alone.out.push_back(labels[label]);
    }
    for (std::size_t l = 0; l < labels.size(); ++l) {
      if (!dimensions[l] && mentions_label(e, static_cast<std::int32_t>(l))) return false;
    }
    alone.bodies = {substitute_labels(e, dimensions)};
    if (part.labels[0] == part.labels[1] || !rearrangement(program_, alone)) return false;
    parts_.push_back(std::move(part));
    return true;
  }

  std::optional<MovedRead> part_of(const Expr& e, const Read& r) {
    MovedRead part{e};
    const std::vector<Label> labels = all_labels(compute_);
    int whole = 0;
    for (std::size_t d = 0; d < 2; ++d) {
      const Extent& extent = program_.type(r.tensor).shape[d];
      const std::optional<Affine> form = affine_of(r.subscripts[d], read_scalar);
      const std::optional<Periodic> around = form ? std::nullopt : periodic_of(r.subscripts[d], labels, read_scalar);
      if (!form && !(around && around->extent == extent)) return std::nullopt;
      if (form && (form->terms.size() > 1 ||
                   (form->terms.size() == 1 && form->terms[0].coefficient.constant().value_or(0) == 0)))
        return std::nullopt;
      part.labels[d] = around ? around->label : form->terms.empty() ? -1 : form->terms[0].label;
      if (part.labels[d] < 0) continue;
      const Label& l = labels[static_cast<std::size_t>(part.labels[d])];
      whole += bare_label(r.subscripts[d]) >= 0 && l.begin == Extent(0) && l.end == extent ? 1 : 0;
    }
    if (part.labels[0] == part.labels[1]) return std::nullopt;
    part.as_it_is = whole == 2;
    return part;
  }

  /// Shifts ranges of index variables to start at 0, so that the variables can subscript separate matrices.
  void shift(Compute& c, const std::set<std::int32_t>& shifted) const {
    std::vector<Expr> replacements(all_labels(c).size());
    for (const std::int32_t l : shifted) {
      Label& label = label_of(c, l);
      if (label.begin == Extent(0)) continue;
      replacements[static_cast<std::size_t>(l)] = binary(BinaryOp::kAdd, index_ref(l), expr_of_polynomial(label.begin));
      label.end = label.end - label.begin;
      label.begin = Extent(0);
    }
    rewrite_expressions(c, [&](const Expr& e) { return e ? substitute_labels(e, replacements) : e; });
  }

  /// Adds a label of extent 1 that reduces over the only row or column: in a reduction, or if the body is a plain read.
  std::int32_t single_label(Compute& c) const {
    if (!c.monoid) {
      if (c.out.empty() || !c.reduce.empty() || c.guard || c.fill || c.combine ||
          !std::holds_alternative<Read>(c.bodies[0]->op))
        return -1;
      c.monoid = Monoid{c.bodies[0]->type == Scalar::kBool ? Monoid::Kind::kAny : Monoid::Kind::kSum, {}, {}, {}};
    }
    c.reduce.push_back({"k", Extent(0), Extent(1)});
    return static_cast<std::int32_t>(c.out.size() + c.reduce.size()) - 1;
  }

  std::optional<Changed> change(std::size_t turned) {
    Changed changed{compute_, {}};
    Compute& c = changed.compute;
    std::set<std::int32_t> shifted;
    for (const MovedRead& p : parts_) {
      if (!p.as_it_is) shifted.insert(p.labels.begin(), p.labels.end());
    }
    shifted.erase(-1);
    Compute moved = c;
    shift(moved, shifted);
    std::vector<std::pair<Expr, Expr>> replaced;
    std::int32_t single = -1;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const bool turn = (turned >> k & 1) != 0;
      MovedRead part = parts_[k];
      if (part.as_it_is && !turn) continue;
      // The read after the shift.
      Compute alone = c;
      alone.guard = Expr();
      alone.bodies = {part.read};
      shift(alone, shifted);
      const Expr from = alone.bodies[0];
      for (std::int32_t& l : part.labels) {
        if (l >= 0) continue;
        if (single < 0) single = single_label(moved);
        if (single < 0) return std::nullopt;
        l = single;
      }
      if (part.labels[0] == part.labels[1]) return std::nullopt;
      replaced.emplace_back(from, of_matrix(changed, moved, from, part.labels, turn));
    }
    rewrite_expressions(moved, [&](const Expr& e) {
      return !e ? e : rewrite(e, [&](const Expr& x) {
        const auto found = std::ranges::find_if(replaced, [&](const auto& r) { return equal(r.first, x); });
        return found == replaced.end() ? x : found->second;
      });
    });
    c = std::move(moved);
    return changed;
  }

  /// Reads a new matrix whose dimensions are the two index variables, transposed if `turn`.
  Expr of_matrix(Changed& changed, const Compute& moved, const Expr& from, const std::array<std::int32_t, 2>& labels,
                 bool turn) {
    const auto* r = std::get_if<Read>(&from->op);
    const std::vector<Label> all = all_labels(moved);
    const ValueInfo info = program_.info(r == nullptr ? first_tensor(from) : r->tensor);
    const std::array<std::size_t, 2> order = {turn ? 1U : 0U, turn ? 0U : 1U};
    Compute copy;
    Type type = info.type;
    std::vector<Expr> replacements(all.size());
    std::vector<Expr> subscripts;
    for (std::size_t d = 0; d < 2; ++d) {
      const auto label = static_cast<std::size_t>(labels[order[d]]);
      copy.out.push_back(all[label]);
      type.shape[d] = all[label].end;
      type.format.levels[d] = info.type.format.level(order[d]);
      replacements[label] = index_ref(static_cast<std::int32_t>(d));
      subscripts.push_back(index_ref(labels[order[d]]));
    }
    copy.bodies = {substitute_labels(from, replacements)};
    if (r != nullptr) {
      // A constant subscript becomes the index of the only row or column.
      std::vector<Expr> places;
      for (std::size_t d = 0; d < 2; ++d) {
        const Expr place = substitute_labels(r->subscripts[d], replacements);
        const std::optional<Affine> form = affine_of(r->subscripts[d], read_scalar);
        places.push_back(form && form->terms.empty()
                             ? binary(BinaryOp::kAdd, place, replacements[static_cast<std::size_t>(labels[d])])
                             : place);
      }
      copy.bodies = {read(from->type, r->tensor, std::move(places), from->range)};
    }
    const ValueId v = program_.new_value(std::move(type), info.name, from->range);
    changed.made.emplace_back(v, std::move(copy));
    return read(from->type, v, std::move(subscripts), from->range);
  }

  static ValueId first_tensor(const Expr& e) {
    ValueId found;
    for_each_read(e, [&](const Read& r) {
      if (!r.subscripts.empty() && !found.valid()) found = r.tensor;
    });
    return found;
  }

  Program& program_;
  const Compute& compute_;
  std::vector<MovedRead> parts_;
};

class Rewriter {
 public:
  Rewriter(const Program& program, const UserResults& results) : results_(results), marked_(program) {
    const std::vector<const Node*> nodes = definitions(program);
    for (std::size_t k = 0; k < program.values.size(); ++k) {
      const Node* n = nodes[k];
      const bool made = n == nullptr || std::holds_alternative<Input>(n->op) ||
                        std::holds_alternative<Compute>(n->op) || std::holds_alternative<Random>(n->op) ||
                        holds_operations(*n);
      ValueInfo& info = marked_.values[k];
      info.type.format.compress(made && info.tile.empty());
    }
  }

  RearrangedReads run() {
    Region body = std::move(marked_.body);
    region(body, true);
    marked_.body = std::move(body);
    for (ValueInfo& info : marked_.values) info.type.format.compress(false);
    return {std::move(marked_), std::move(moved_)};
  }

 private:
  struct Level {
    std::set<ValueId> defined;
    bool loop = false;  ///< invariants may be computed in front of it
    std::vector<Node> made;
    std::vector<std::pair<Compute, ValueId>> known;
  };

  void region(Region& r, bool loop) {
    levels_.push_back({{r.arguments.begin(), r.arguments.end()}, loop, {}, {}});
    std::vector<Node> nodes;
    for (Node& n : r.nodes) {
      if (auto* c = std::get_if<Compute>(&n.op)) {
        compute(n, *c);
      } else if (holds_operations(n)) {
        const bool inner_loop = std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op);
        for (Region* inner : regions_in(n)) region(*inner, inner_loop);
      }
      for (Node& made : std::exchange(levels_.back().made, {})) nodes.push_back(std::move(made));
      levels_.back().defined.insert(n.results.begin(), n.results.end());
      nodes.push_back(std::move(n));
    }
    r.nodes = std::move(nodes);
    levels_.pop_back();
  }

  void compute(Node& n, Compute& c) {
    if (n.results.size() != 1 || results_.refused.contains(n.results[0])) return;
    const ValueInfo& result = marked_.info(n.results[0]);
    std::optional<Changed> changed =
        Changer(marked_, c)
            .run(result.type.is_compressed() && result.type.rank() == 2 && !results_.dense.contains(n.results[0]));
    if (!changed) return;
    c = std::move(changed->compute);
    ValueMap names;
    for (auto& [v, copy] : changed->made) {
      const std::set<ValueId> from = tensors_read(copy);
      const ValueId known = place(v, std::move(copy), n.range);
      if (!(known == v)) names.emplace(v, known);
      moved_[known].from = from;
      moved_[known].users.insert(n.results[0]);
    }
    if (!names.empty()) rename_operands(n, names);
  }

  /// Places the copy in front of the outermost loop in which it is invariant; returns an equal existing value if there
  /// is one.
  ValueId place(ValueId v, Compute copy, const SourceRange& range) {
    std::size_t level = levels_.size() - 1;
    std::vector<Label> labels = copy.out;
    const std::vector<const Label*> pointers = {&labels[0], &labels[1]};
    const auto* alone = std::get_if<Read>(&copy.bodies[0]->op);
    const bool fails = alone != nullptr && read_may_fail(marked_, *alone, pointers);
    while (level > 0 && !fails && levels_[level].loop && !depends_on(levels_[level], copy)) --level;
    Level& at = levels_[level];
    for (const auto& [other, value] : at.known) {
      const bool same = equal(other.bodies[0], copy.bodies[0]) && other.out[0].end == copy.out[0].end &&
                        other.out[1].end == copy.out[1].end;
      if (same) return value;
    }
    at.known.emplace_back(copy, v);
    at.defined.insert(v);
    at.made.push_back({range, {v}, std::move(copy)});
    return v;
  }
  std::set<ValueId> tensors_read(const Compute& copy) const {
    std::set<ValueId> tensors = values_read(copy);
    std::erase_if(tensors, [this](ValueId v) { return marked_.type(v).rank() == 0; });
    return tensors;
  }
  static bool depends_on(const Level& level, const Compute& copy) {
    const std::set<ValueId> read = values_read(copy);
    const auto defined = [&](ValueId v) { return level.defined.contains(v); };
    return std::ranges::any_of(read, defined) || std::ranges::any_of(copy.out, [&](const Label& l) {
             const std::vector<ValueId> sizes = l.end.values();
             return std::ranges::any_of(sizes, defined);
           });
  }

  const UserResults& results_;
  Program marked_;
  std::vector<Level> levels_;
  std::map<ValueId, RearrangedReads::Moved> moved_;
};

}  // namespace

RearrangedReads rearranged_reads(const Program& program, const UserResults& results) {
  return Rewriter(program, results).run();
}

}  // namespace tdsl::passes
