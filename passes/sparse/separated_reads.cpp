#include "passes/sparse/separated_reads.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "ir/analysis/diagonal.h"
#include "ir/analysis/iteration_rules.h"
#include "ir/analysis/rearrangement.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/loops/subscripts.h"
#include "passes/rewriting.h"
#include "passes/sparse/index_vectors.h"
#include "passes/sparse/iteration.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// A read of a matrix, a choice between reads, or a diagonal, that a separate matrix may replace.
struct MovedRead {
  Expr read;
  std::array<std::int32_t, 2> labels{};  ///< -1: a constant subscript
  bool as_it_is = false;                 ///< the subscripts are index variables over whole dimensions
  std::set<ValueId> beside = {};         ///< of a diagonal: the matrices read at the same index variables
};

class Separator {
 public:
  /// Adds new values to `program`, in which all candidates are marked. `sparse`: the result has sparse dimensions, and
  /// may be compressed.
  Separator(Program& program, const Compute& c, bool sparse) : program_(program), compute_(c) {
    using enum Monoid::Kind;
    const bool signless = c.monoid ? c.monoid->kind != kProd && c.monoid->kind != kUser : sparse;
    if (c.bodies.size() != 1 || !signless) return;
    find_terms(c.bodies[0], true);
    if (c.guard) find_terms(c.guard, true);
  }

  /// Nullopt if the Compute already iterates over its matrices, or cannot. `compressed_result`: its result must be
  /// compressed afterwards.
  std::optional<SeparatedReads> run(bool compressed_result) {
    if (compute_.bodies.size() != 1 || compute_.in_any_order || !compute_.left.empty() || compute_.base ||
        !find_parts())
      return std::nullopt;
    // Iterating over several matrices is better than over one with dense copies of the others.
    const Reach now = reach(compute_, compressed_result);
    if (now == Reach::kAll || (compressed_result && (now == Reach::kSome || rearrangement(program_, compute_))))
      return std::nullopt;
    if (auto selected = compressed_result ? selection(program_, compute_) : std::nullopt) return selected;
    std::vector<std::size_t> turned;
    for (std::size_t mask = 0; mask < std::size_t{1} << turnable_; ++mask) turned.push_back(mask);
    std::ranges::stable_sort(turned, {}, [](std::size_t mask) { return std::popcount(mask); });
    for (const std::size_t mask : turned) {
      const std::size_t values = program_.values.size();
      std::optional<SeparatedReads> changed = change(mask);
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
    if (!fits || parts_.empty()) return false;
    const auto diagonals = std::ranges::stable_partition(parts_, [](const MovedRead& p) { return p.beside.empty(); });
    turnable_ = parts_.size() - diagonals.size();
    if (turnable_ <= kMostParts) return true;
    const bool only_diagonals =
        std::ranges::all_of(parts_, [](const MovedRead& p) { return p.as_it_is || !p.beside.empty(); });
    turnable_ = 0;
    return only_diagonals;
  }
  /// `conditional`: not evaluated at all points.
  bool find_parts(const Expr& e, bool conditional) {
    if (const auto* s = std::get_if<Select>(&e->op))
      return add_choice(e) || add_diagonal(e) ||
             (find_parts(s->condition, conditional) && find_parts(s->when_true, true) &&
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
      part.labels[d] = label_in(first->subscripts[d]);
      if (part.labels[d] < 0 || labels_in(first->subscripts[d]).size() > 1) return false;
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

  /// Collects the diagonals in expressions of a result that is never -0. `signless`: the sign of a zero in `e` can only
  /// change that of a zero result, which operators other than quotients and powers preserve.
  void find_terms(const Expr& e, bool signless) {
    if (diagonal_of(e)) (signless ? terms_ : others_).push_back(e);
    const auto* b = std::get_if<Binary>(&e->op);
    using enum BinaryOp;
    const bool quotient = b != nullptr && (b->op == kDiv || b->op == kAbsentDiv);
    if (quotient) {
      find_terms(b->left, signless);
      find_terms(b->right, false);
      return;
    }
    const bool keeps =
        !std::holds_alternative<Apply>(e->op) && (b == nullptr || (b->op != kPow && b->op != kRem && b->op != kMod));
    for (const Expr& child : children(*e)) find_terms(child, signless && keeps);
  }

  /// Moves `select(i == j, v[i], 0)` beside a read `A[i, j]` into a matrix with at most one element per row, computed
  /// at these points alone (codegen/loops/guard_bounds.h).
  bool add_diagonal(const Expr& e) {
    if (std::ranges::any_of(parts_, [&](const MovedRead& p) { return equal(p.read, e); })) return true;
    const auto labels = diagonal_of(e);
    if (!labels || may_fail(e)) return false;
    const auto is_among = [&](const std::vector<Expr>& list) {
      return std::ranges::any_of(list, [&](const Expr& other) { return equal(other, e); });
    };
    if (!is_among(terms_) || is_among(others_)) return false;
    const std::vector<const Label*> ranges = passes::labels_of(compute_);
    const bool one_label = labels_in(value_on_diagonal(e)).size() == 1;
    bool simple = std::ranges::all_of(labels_in(e), [&](std::int32_t l) { return std::ranges::count(*labels, l) > 0; });
    int compressed = 0;
    for_each_read(e, [&](const Read& r) {
      simple = simple && !read_may_fail(program_, r, ranges);
      compressed += program_.type(r.tensor).is_compressed() ? 1 : 0;
    });
    for_each_read(value_on_diagonal(e), [&](const Read& r) {
      if (one_label && program_.type(r.tensor).is_compressed() && program_.type(r.tensor).rank() == 1) --compressed;
    });
    simple = simple && compressed == 0;
    if (!simple) return false;
    MovedRead part{e, *labels};
    const auto beside = [&](const Read& r) {
      if (!program_.type(r.tensor).is_compressed() || r.subscripts.size() != 2) return;
      const std::array<std::int32_t, 2> at = {bare_label(r.subscripts[0]), bare_label(r.subscripts[1])};
      if (!std::ranges::is_permutation(at, *labels)) return;
      if (part.beside.empty()) part.labels = at;
      part.beside.insert(r.tensor);
    };
    for_each_read(compute_.bodies[0], beside);
    if (compute_.guard) for_each_read(compute_.guard, beside);
    if (part.beside.empty()) return false;
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
      if (form ? form->terms.size() > 1 ||
                     (form->terms.size() == 1 && form->terms[0].coefficient.constant().value_or(0) == 0)
               : !fits_in_vector(program_, r.subscripts[d]))
        return std::nullopt;
      part.labels[d] = label_in(r.subscripts[d]);
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

  std::optional<SeparatedReads> change(std::size_t turned) {
    SeparatedReads changed{compute_, {}};
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
      replaced.emplace_back(from, of_matrix(changed, moved, from, part, turn));
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

  /// Reads a new matrix whose dimensions are the two index variables of the part, transposed if `turn`. `from`: what it
  /// replaces.
  Expr of_matrix(SeparatedReads& changed, const Compute& moved, const Expr& from, const MovedRead& part, bool turn) {
    const auto* r = std::get_if<Read>(&from->op);
    const bool diagonal = !part.beside.empty();
    const std::array<std::int32_t, 2>& labels = part.labels;
    const std::vector<Label> all = all_labels(moved);
    const ValueInfo info =
        diagonal ? diagonal_matrix(from->type) : program_.info(r == nullptr ? first_tensor(from) : r->tensor);
    const std::array<std::size_t, 2> order = {turn ? 1U : 0U, turn ? 0U : 1U};
    Compute copy;
    Type type = info.type;
    std::vector<Expr> replacements(all.size());
    std::vector<Expr> subscripts;
    for (std::size_t d = 0; d < 2; ++d) {
      const auto label = static_cast<std::size_t>(labels[order[d]]);
      copy.out.push_back(all[label]);
      type.shape[d] = all[label].end;
      type.format.levels[d] = info.type.format.level(diagonal ? d : order[d]);
      replacements[label] = index_ref(static_cast<std::int32_t>(d));
      subscripts.push_back(index_ref(labels[order[d]]));
    }
    copy.bodies = {substitute_labels(diagonal ? with_dense_values(changed, all, from) : from, replacements)};
    if (diagonal && is_float(from->type))  // stores no -0
      copy.bodies[0] = binary(BinaryOp::kAdd, zero_of(from->type), copy.bodies[0]);
    if (r != nullptr) {
      // A constant subscript becomes the index of the only row or column.
      std::vector<Expr> places;
      for (std::size_t d = 0; d < 2; ++d) {
        const Expr place = substitute_labels(r->subscripts[d], replacements);
        places.push_back(label_in(r->subscripts[d]) < 0
                             ? binary(BinaryOp::kAdd, place, replacements[static_cast<std::size_t>(labels[d])])
                             : place);
      }
      copy.bodies = {with_index_vectors(program_, read(from->type, r->tensor, std::move(places), from->range), copy.out,
                                        changed.made)};
    }
    const ValueId v = program_.new_value(std::move(type), info.name, from->range);
    std::set<ValueId> of = part.beside;
    if (!diagonal) {
      of = values_read(copy);
      std::erase_if(of, [this](ValueId x) { return !program_.type(x).is_compressed(); });
    }
    changed.made.push_back({v, std::move(copy), std::move(of)});
    return read(from->type, v, std::move(subscripts), from->range);
  }

  /// The diagonal; if its values are those of compressed vectors, with those of a dense vector: all of its points are
  /// computed.
  Expr with_dense_values(SeparatedReads& changed, const std::vector<Label>& all, const Expr& diagonal) {
    const Expr value = value_on_diagonal(diagonal);
    bool compressed = false;
    for_each_read(value, [&](const Read& r) { compressed = compressed || program_.type(r.tensor).is_compressed(); });
    if (!compressed) return diagonal;
    const auto label = static_cast<std::size_t>(*labels_in(value).begin());
    std::vector<Expr> renamed(all.size());
    renamed[label] = index_ref(0);
    Compute vector;
    vector.out = {all[label]};
    vector.bodies = {substitute_labels(value, renamed)};
    const ValueId v = program_.new_value({value->type, {all[label].end}, {}}, "", diagonal->range);
    changed.made.push_back({v, std::move(vector), {}});
    const Expr element = read(value->type, v, {index_ref(static_cast<std::int32_t>(label))});
    return rewrite(diagonal, [&](const Expr& e) { return equal(e, value) ? element : e; });
  }

  static ValueInfo diagonal_matrix(Scalar scalar) {
    ValueInfo info;
    info.name = "diagonal";
    info.type = {scalar, std::vector<Extent>(2), Format{{Format::Level::kDense, Format::Level::kCompressed}}};
    return info;
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
  std::vector<MovedRead> parts_;  ///< diagonals last
  std::size_t turnable_ = 0;      ///< number of the first parts that may be transposed
  std::vector<Expr> terms_;       ///< see find_terms
  std::vector<Expr> others_;
};

}  // namespace

std::optional<SeparatedReads> separated_reads(Program& program, const Compute& compute, const Type& result,
                                              bool sparse) {
  return Separator(program, compute, sparse).run(sparse && result.is_compressed() && result.rank() == 2);
}

}  // namespace tdsl::passes
