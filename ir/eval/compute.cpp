#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/combined.h"
#include "ir/eval/accumulator.h"
#include "ir/eval/environment.h"
#include "ir/graph/check.h"
#include "runtime/message_id.h"
#include "runtime/size.h"

namespace tdsl::ir::eval {

namespace {

using Kind = Monoid::Kind;

Slot open(const Slot& value) { return {{value.real.value, kOpen, value.real.imag}, {value.whole.value, kOpen}}; }

bool same_value(const Slot& a, const Slot& b) {
  return a.real.value == b.real.value && a.real.imag == b.real.imag && a.whole.value == b.whole.value;
}

bool is_position(Kind kind) { return kind == Kind::kArgMin || kind == Kind::kArgMax; }

/// Accumulates the values of one element.
class Accumulator {
 public:
  Accumulator(Kind kind, Scalar type, CompiledExpr* combine)
      : is_position_(is_position(kind)),
        is_real_(is_float(type)),
        real_(kind, type, combine),
        whole_(kind, type, combine),
        position_(kind, type) {}

  void meet(const Slot& value) { is_real_ ? real_.meet(value.real) : whole_.add(value.whole); }
  void add(const Slot& value) { is_real_ ? real_.add(value.real) : whole_.add(value.whole); }
  void add_body(CompiledExpr& body, const std::int64_t* labels, std::int64_t position) {
    if (is_position_) {
      is_real_ ? position_.add(body.real(labels), position) : position_.add(body.whole(labels), position);
    } else {
      is_real_ ? real_.add(body.real(labels)) : whole_.add(body.whole(labels));
    }
  }
  [[nodiscard]] bool empty() const { return is_position_ ? false : (is_real_ ? real_.empty() : whole_.empty()); }
  [[nodiscard]] Slot result() const {
    if (is_position_) return {{}, position_.result()};
    return is_real_ ? Slot{real_.result(), {}} : Slot{{}, whole_.result()};
  }

 private:
  bool is_position_;
  bool is_real_;
  RealAccumulator real_;
  WholeAccumulator whole_;
  PositionAccumulator position_;
};

/// Row-major iteration over label ranges.
class Ranges {
 public:
  void add(std::int64_t begin, std::int64_t end) {
    begins_.push_back(begin);
    ends_.push_back(end);
  }
  [[nodiscard]] bool empty() const {
    for (std::size_t k = 0; k < begins_.size(); ++k) {
      if (ends_[k] <= begins_[k]) return true;
    }
    return false;
  }
  [[nodiscard]] bool at_most_one_point() const {
    for (std::size_t k = 0; k < begins_.size(); ++k) {
      if (ends_[k] - begins_[k] > 1) return empty();
    }
    return true;
  }
  void start(std::int64_t* labels) const { std::ranges::copy(begins_, labels); }
  bool next(std::int64_t* labels) const {
    for (std::size_t k = begins_.size(); k-- > 0;) {
      if (++labels[k] < ends_[k]) return true;
      labels[k] = begins_[k];
    }
    return false;
  }
  [[nodiscard]] std::int64_t extent(std::size_t k) const { return std::max<std::int64_t>(0, ends_[k] - begins_[k]); }
  [[nodiscard]] std::int64_t begin(std::size_t k) const { return begins_[k]; }
  [[nodiscard]] std::size_t size() const { return begins_.size(); }

 private:
  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> ends_;
};

class ComputeEvaluator {
 public:
  ComputeEvaluator(Environment& environment, const Node& node, const Compute& compute)
      : environment_(environment), node_(node), compute_(compute), labels_(compute.out.size() + compute.reduce.size()) {
    add_ranges(compute.out, out_);
    add_ranges(compute.reduce, reduce_);
    for (const Expr& body : compute.bodies) bodies_.push_back(compiled(body));
    for (const Expr& e : compute.left) left_.push_back(compiled(e));
    if (compute.guard) {
      guard_ = compiled(compute.guard);
      for_each_node(compute.guard, [this](const ExprNode& n) {
        const auto* i = std::get_if<IndexRef>(&n.op);
        guard_over_reduce_ = guard_over_reduce_ || (i != nullptr && static_cast<std::size_t>(i->label) >= out_.size());
      });
    }
    if (compute.monoid && compute.monoid->kind == Kind::kUser) monoid_combine_ = compiled(meeting(*compute.monoid));
    if (compute.combine && compute.combine->kind == Kind::kUser) element_combine_ = compiled(meeting(*compute.combine));
    accumulates_ = adds_to_element(compute) && is_float(element_type(0));
    leaves_if_empty_ = element_combine_ && monoid_combine_ && equal(*compute.monoid, *compute.combine);
    for (std::size_t k = 0; k < bodies_.size(); ++k) prepare_constants(k);
  }

  std::vector<std::shared_ptr<Array>> run(bool base_dies) {
    allocate(base_dies);
    check_extents();
    if (!out_.empty()) {
      out_.start(labels_.data());
      do { point(); } while (out_.next(labels_.data()));
    }
    finish();
    return std::move(results_);
  }

 private:
  CompiledExpr compiled(const Expr& e) {
    return CompiledExpr(
        environment_.program(), e, [this](ValueId v) -> const Array& { return environment_.get(v); }, node_.range);
  }

  static Expr meeting(const Monoid& m) {
    const Scalar type = m.combine->type;
    return combined(m, argument(type, 0), argument(type, 1));
  }

  void add_ranges(const std::vector<Label>& labels, Ranges& ranges) {
    for (const Label& l : labels) {
      const std::int64_t begin = environment_.extent(l.begin, node_.range);
      const std::int64_t end = environment_.extent(l.end, node_.range);
      if (!rt::is_countable(begin, end)) stop(node_.range, rt::with_id(rt::uncountable_text(l.name), "too-large"));
      ranges.add(begin, end);
    }
  }

  /// The values of elements that no point writes, and of empty reductions.
  void prepare_constants(std::size_t k) {
    Slot identity;
    if (compute_.monoid) identity = constant_value(identity_of(*compute_.monoid, bodies_[k].type()));
    identities_.push_back(identity);
    Slot untouched;
    if (compute_.fill) {
      untouched = constant_value(compute_.fill);
    } else if (compute_.monoid && compute_.left.empty()) {
      untouched = identity;
    }
    untouched_.push_back(untouched);
    if (!compute_.combine) return;
    const Slot neutral = constant_value(identity_of(*compute_.combine, element_type(k)));
    starts_empty_.push_back(!compute_.base && same_value(neutral, untouched));
  }

  Slot constant_value(const Expr& e) {
    CompiledExpr c = compiled(e);
    return c.value(nullptr);
  }

  [[nodiscard]] Scalar element_type(std::size_t k) const {
    return environment_.program().type(node_.results[k]).scalar;
  }

  [[nodiscard]] bool reads_base() const {
    const auto reads = [this](const Expr& e) {
      return e && any_read(e, [this](const Read& r) { return r.tensor == *compute_.base; });
    };
    return reads(compute_.guard) || std::ranges::any_of(compute_.bodies, reads) ||
           std::ranges::any_of(compute_.left, reads);
  }

  void allocate(bool base_dies) {
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      std::vector<std::int64_t> shape = environment_.shape(node_.results[k], node_.range, true);
      if (compute_.base) {
        // In place only if no point can see another point's write.
        const bool movable = base_dies && (out_.at_most_one_point() || !reads_base());
        auto array = movable ? environment_.take(*compute_.base) : environment_.share(*compute_.base);
        if (array->shape != shape)
          stop(node_.range, "the shapes of the variable and of its new value differ [shape-mismatch]");
        if (!movable || array.use_count() > 1) array = std::make_shared<Array>(*array);
        results_.push_back(std::move(array));
      } else {
        results_.push_back(std::make_shared<Array>(filled(element_type(k), std::move(shape), untouched_[k])));
      }
      results_.back()->nonnegative = is_nonnegative(k);
    }
    if (compute_.combine) accumulators_.resize(bodies_.size());
    written_.resize(bodies_.size());
  }

  static Array filled(Scalar type, std::vector<std::int64_t> shape, const Slot& value) {
    Array a = zeros(type, std::move(shape));
    fill(a, {{value.real.value, 0, value.real.imag}, {value.whole.value, 0}});
    return a;
  }

  [[nodiscard]] bool is_nonnegative(std::size_t k) const {
    const auto keeps = [](const std::optional<Monoid>& m) {
      return !m || m->kind == Kind::kSum || m->kind == Kind::kProd || m->kind == Kind::kMin;
    };
    if (!is_real(element_type(k)) || !bodies_[k].nonnegative() || !keeps(compute_.monoid) || !keeps(compute_.combine)) {
      return false;
    }
    return untouched_[k].real.value >= 0 && (!compute_.base || results_[k]->nonnegative);
  }

  void check_extents() {
    if (!compute_.left.empty()) return;
    for (const auto& array : results_) {
      for (std::size_t d = 0; d < out_.size(); ++d) {
        if (array->shape[d] == out_.extent(d)) continue;
        stop(node_.range,
             fmt::format("dimension {} of the result has extent {}, but its index runs over {} values [shape-mismatch]",
                         d, array->shape[d], out_.extent(d)));
      }
    }
  }

  /// One point of the out labels.
  void point() {
    double taint = 0;
    if (guard_ && !guard_over_reduce_) {
      const Whole g = guard_->whole(labels_.data());
      taint = g.bound;
      if (g.value == 0) {
        if (taint != 0) spoil();
        return;
      }
    }
    if (compute_.reduce.empty()) {
      values_.clear();
      for (CompiledExpr& body : bodies_) values_.push_back(body.value(labels_.data()));
    } else if (!reduce_point(taint)) {
      if (taint != 0) spoil();
      return;
    }
    write(taint);
  }

  /// Reduces at the current out point into `values_`; false if the guard selects no point.
  bool reduce_point(double& taint) {
    accumulating_.clear();
    for (CompiledExpr& body : bodies_) {
      accumulating_.emplace_back(compute_.monoid->kind, body.type(), monoid_combine_ ? &*monoid_combine_ : nullptr);
    }
    bool held = !guard_over_reduce_;
    std::int64_t* inner = labels_.data() + out_.size();
    if (!reduce_.empty()) {
      reduce_.start(inner);
      do {
        if (guard_over_reduce_) {
          const Whole g = guard_->whole(labels_.data());
          taint = std::max(taint, g.bound);
          if (g.value == 0) continue;
          held = true;
        }
        for (std::size_t k = 0; k < bodies_.size(); ++k) {
          accumulating_[k].add_body(bodies_[k], labels_.data(), *inner);
        }
      } while (reduce_.next(inner));
    }
    values_.clear();
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      values_.push_back(accumulating_[k].empty() ? identities_[k] : accumulating_[k].result());
    }
    return held && !(leaves_if_empty_ && reduce_.empty());
  }

  /// The element written by the current out point; open subscripts could select any.
  std::size_t position(std::size_t k, double& taint) {
    const Array& array = *results_[k];
    std::int64_t at = 0;
    for (std::size_t d = 0; d < array.shape.size(); ++d) {
      std::int64_t subscript = 0;
      if (left_.empty()) {
        subscript = labels_[d] - out_.begin(d);
      } else {
        const Whole w = left_[d].whole(labels_.data());
        subscript = w.value;
        taint = std::max(taint, w.bound);
        const SourceRange& range = compute_.left[d]->range.known() ? compute_.left[d]->range : node_.range;
        check_subscript(subscript, array.shape[d], d, environment_.program().info(node_.results[k]).name, range);
      }
      at = at * array.shape[d] + subscript;
    }
    return static_cast<std::size_t>(at);
  }

  void write(double taint) {
    for (std::size_t k = 0; k < results_.size(); ++k) {
      double place_taint = 0;
      const std::size_t at = position(k, place_taint);
      all_open_ = all_open_ || place_taint != 0;
      const Slot value = taint != 0 ? open(values_[k]) : values_[k];
      if (compute_.combine) {
        combine(k, at, value);
        continue;
      }
      if (!left_.empty() && !written_[k].insert(at).second) {
        stop(node_.range, fmt::format("element [{}] of {} is written twice by `=` [assertion]", subscripts_text(k, at),
                                      name_of_result(k)));
      }
      const Real old = accumulates_ ? real_element(*results_[k], at) : Real{};
      set_element(*results_[k], at, value);
      if (accumulates_) widen(*results_[k], at, old);
    }
  }

  static void widen(Array& array, std::size_t at, Real old) {
    const double own = reordering(array.type, old, real_element(array, at));
    if (own > 0) set_bound(array, at, own + bound_at(array, at));
  }

  [[nodiscard]] std::string name_of_result(std::size_t k) const {
    const std::string& name = environment_.program().info(node_.results[k]).name;
    return name.empty() ? "the result" : name;
  }

  [[nodiscard]] std::string subscripts_text(std::size_t k, std::size_t at) const {
    std::string text;
    auto rest = static_cast<std::int64_t>(at);
    for (std::size_t d = results_[k]->shape.size(); d-- > 0;) {
      text = std::to_string(rest % results_[k]->shape[d]) + (text.empty() ? "" : ", ") + text;
      rest /= results_[k]->shape[d];
    }
    return text;
  }

  void combine(std::size_t k, std::size_t at, const Slot& value) {
    const auto [place, fresh] = accumulators_[k].try_emplace(at, compute_.combine->kind, element_type(k),
                                                             element_combine_ ? &*element_combine_ : nullptr);
    if (fresh && !starts_empty_[k]) place->second.meet(element(*results_[k], at));
    place->second.add(value);
  }

  /// The current out point might write another element in another evaluation.
  void spoil() {
    if (!left_.empty()) {
      all_open_ = true;
      return;
    }
    for (std::size_t k = 0; k < results_.size(); ++k) {
      double ignored = 0;
      const std::size_t at = position(k, ignored);
      set_bound(*results_[k], at, kOpen);
    }
  }

  void finish() {
    for (std::size_t k = 0; k < results_.size(); ++k) {
      if (compute_.combine) {
        for (const auto& [at, accumulator] : accumulators_[k]) set_element(*results_[k], at, accumulator.result());
      }
      if (all_open_) results_[k]->bounds.assign(static_cast<std::size_t>(results_[k]->size()), kOpen);
    }
  }

  Environment& environment_;
  const Node& node_;
  const Compute& compute_;
  Ranges out_;
  Ranges reduce_;
  std::vector<std::int64_t> labels_;
  std::vector<CompiledExpr> bodies_;
  std::vector<CompiledExpr> left_;
  std::optional<CompiledExpr> guard_;
  bool guard_over_reduce_ = false;
  std::optional<CompiledExpr> monoid_combine_;
  std::optional<CompiledExpr> element_combine_;
  bool accumulates_ = false;      ///< `x[i] = x[i] + e`, in a loop
  bool leaves_if_empty_ = false;  ///< an empty reduction has no value to combine
  std::vector<Slot> identities_;
  std::vector<Slot> untouched_;
  std::vector<bool> starts_empty_;
  std::vector<std::shared_ptr<Array>> results_;
  std::vector<std::unordered_map<std::size_t, Accumulator>> accumulators_;
  std::vector<std::unordered_set<std::size_t>> written_;
  std::vector<Accumulator> accumulating_;
  std::vector<Slot> values_;
  bool all_open_ = false;
};

}  // namespace

std::vector<std::shared_ptr<Array>> evaluate_compute(Environment& environment, const Node& node, const Compute& compute,
                                                     bool base_dies) {
  return ComputeEvaluator(environment, node, compute).run(base_dies);
}

}  // namespace tdsl::ir::eval
