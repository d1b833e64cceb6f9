#include "ir/eval/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

#include "ir/eval/accumulator.h"
#include "ir/eval/environment.h"
#include "ir/eval/failure_text.h"
#include "ir/eval/routine.h"
#include "ir/eval/text.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "runtime/check.h"
#include "runtime/kernels/philox.h"
#include "runtime/kernels/sparse_random.h"
#include "runtime/message_id.h"
#include "runtime/shapes.h"
#include "runtime/size.h"

namespace tdsl::ir {

std::int64_t Array::size() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

namespace eval {

namespace {

using ArrayRef = std::shared_ptr<Array>;

using rt::shape_text;

class Interpreter {
 public:
  Interpreter(const Program& program, const EvalOptions& options)
      : program_(program),
        options_(options),
        environment_(program),
        lifetimes_(find_lifetimes(program)),
        accumulations_(scalar_accumulations(program)) {}

  EvalResult run() {
    try {
      nodes(program_.body);
    } catch (const Stop& s) {
      result_.error = s.error;
      std::erase_if(result_.outputs, [&](const auto& output) { return !result_.series.contains(output.first); });
      result_.output_order.clear();
    }
    result_.uncertain_control = environment_.uncertain() || open_condition_;
    return std::move(result_);
  }

 private:
  void nodes(const Region& region) {
    for (const Node& n : region.nodes) {
      node(n);
      for (const ValueId v : lifetimes_.last.at(&n)) environment_.release(v);
    }
  }

  /// Runs a region with arguments and returns its yields; its values are discarded.
  std::vector<ArrayRef> region(const Region& r, std::vector<ArrayRef> arguments) {
    TDSL_CHECK(arguments.size() == r.arguments.size(), "a region's arguments differ in number");
    for (std::size_t k = 0; k < arguments.size(); ++k) environment_.set(r.arguments[k], std::move(arguments[k]));
    nodes(r);
    std::vector<ArrayRef> yields;
    for (const ValueId v : r.yields) yields.push_back(environment_.share(v));
    for (const ValueId v : r.arguments) environment_.release(v);
    for (const Node& n : r.nodes) {
      for (const ValueId v : n.results) environment_.release(v);
    }
    return yields;
  }

  [[nodiscard]] bool dies(const Node& n, ValueId v) const {
    const std::vector<ValueId>& last = lifetimes_.last.at(&n);
    return std::ranges::find(last, v) != last.end();
  }

  /// True if the node's regions read the value themselves.
  [[nodiscard]] bool captured(const Node& n, ValueId v) const {
    const auto found = lifetimes_.captured.find(&n);
    return found != lifetimes_.captured.end() && found->second.contains(v);
  }

  /// The initial values of a loop; those that die with it are moved, so that the body may change them in place.
  std::vector<ArrayRef> initial(const Node& n, const std::vector<ValueId>& inits) {
    std::vector<ArrayRef> arrays;
    for (const ValueId v : inits) arrays.push_back(environment_.share(v));
    for (const ValueId v : inits) {
      if (dies(n, v) && !captured(n, v)) environment_.release(v);
    }
    return arrays;
  }

  /// `open`: rounding decided a branch, so the results are arbitrary.
  void define(const Node& n, std::vector<ArrayRef> arrays, bool open = false) {
    TDSL_CHECK(arrays.size() == n.results.size(), "results differ in number");
    for (std::size_t k = 0; k < arrays.size(); ++k)
      environment_.set(n.results[k], open ? opened(*arrays[k]) : std::move(arrays[k]));
  }

  static ArrayRef opened(const Array& a) {
    auto result = std::make_shared<Array>(a);
    result->bounds.assign(static_cast<std::size_t>(a.size()), std::numeric_limits<double>::infinity());
    return result;
  }

  void node(const Node& n) {
    match(
        n.op,
        [&](const Dimension& d) { define(n, {std::make_shared<Array>(scalar_array(Scalar::kI64, dimension(n, d)))}); },
        [&](const Found& d) { define(n, {std::make_shared<Array>(scalar_array(Scalar::kI64, found(n, d)))}); },
        [&](const Param& p) { define(n, {param(n, p)}); }, [&](const Input& i) { define(n, {checked_input(n, i)}); },
        [&](const Compute& c) { compute(n, c); }, [&](const Random& r) { define(n, {random(n, r)}); },
        [&](const Routine& r) { define(n, evaluate_routine(environment_, n, r)); },
        [&](const Chain& c) { define(n, {evaluate_chain(environment_, n, c)}); }, [&](const For& f) { for_loop(n, f); },
        [&](const While& w) { while_loop(n, w); },
        [&](const If& i) {
          const bool taken = environment_.control(i.condition) != 0;
          const bool open = is_open(environment_.get(i.condition));
          define(n, region(taken ? i.then_region : i.else_region, {}), open);
        },
        [&](const Choose& c) { define(n, region(c.regions.front(), {})); },
        [&](const Fused& f) { define(n, fused(n, f)); }, [&](const Print& p) { print(p); },
        [&](const Assert& a) {
          if (environment_.control(a.condition) == 0) { stop(n.range, failure_text(a)); }
        },
        [&](const Check& c) { check(n, c); }, [&](const Output& o) { output(o); },
        [](const Gradient&) { TDSL_CHECK(false, "derivatives are expanded before a program is evaluated"); });
  }

  void output(const Output& o) {
    const Array& value = environment_.get(o.value);
    if (o.record) return append(value, environment_.control(*o.record), result_.outputs.at(o.name));
    result_.outputs[o.name] = value;
    result_.output_order.push_back(o.name);
    if (o.begins) {
      result_.series.insert(o.name);
    } else if (options_.output) {
      options_.output(o.name, value);
    }
  }

  /// Appends a record to those of a series.
  static void append(const Array& record, std::int64_t number, Array& all) {
    TDSL_CHECK(number == all.shape.at(0), "the records of a series have consecutive numbers");
    TDSL_CHECK(std::ranges::equal(record.shape, std::span(all.shape).subspan(1)), "records have one shape");
    if (!record.bounds.empty() || !all.bounds.empty()) {
      all.bounds.resize(static_cast<std::size_t>(all.size()), 0.0);
      std::vector<double> bounds = record.bounds;
      bounds.resize(static_cast<std::size_t>(record.size()), 0.0);
      all.bounds.insert(all.bounds.end(), bounds.begin(), bounds.end());
    }
    all.floats.insert(all.floats.end(), record.floats.begin(), record.floats.end());
    all.imaginary.insert(all.imaginary.end(), record.imaginary.begin(), record.imaginary.end());
    all.integers.insert(all.integers.end(), record.integers.begin(), record.integers.end());
    ++all.shape[0];
  }

  std::vector<ArrayRef> fused(const Node& n, const Fused& f) {
    std::vector<ArrayRef> arrays = region(f.body, {});
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const ValueId result = n.results[k], count = f.body.yields[k];
      const Type& type = environment_.program().type(result);
      if (type.scalar == arrays[k]->type) continue;
      environment_.set(count, std::move(arrays[k]));
      const Node conversion{n.range, {result}, converted(count, type)};
      arrays[k] = evaluate_compute(environment_, conversion, std::get<Compute>(conversion.op), false).front();
      environment_.release(count);
    }
    return arrays;
  }

  /// The elements of a count in f64 as integers.
  static Compute converted(ValueId count, const Type& type) {
    Compute c;
    c.out = numbered_labels(type.shape);
    c.bodies = {cast(type.scalar, ir::read(Scalar::kF64, count, plain_subscripts(c.out.size())))};
    return c;
  }

  void compute(const Node& n, const Compute& c) {
    const auto added_to = accumulations_.find(n.results[0]);
    const auto old = added_to == accumulations_.end()
                         ? std::nullopt
                         : std::optional(real_element(environment_.get(added_to->second), 0));
    std::vector<ArrayRef> arrays = evaluate_compute(environment_, n, c, c.base && dies(n, *c.base));
    if (old) {
      Array& now = *arrays[0];
      const double bound = now.bounds.empty() ? 0 : now.bounds[0];
      set_bound(now, 0, std::max(bound, bound + reordering(now.type, *old, real_element(now, 0))));
    }
    define(n, std::move(arrays));
  }

  void for_loop(const Node& n, const For& f) {
    TDSL_CHECK(f.step != 0, "a loop's step is not 0");
    std::int64_t i = environment_.control(f.begin);
    const std::int64_t end = environment_.control(f.end);
    const bool open = is_open(environment_.get(f.begin)) || is_open(environment_.get(f.end));
    std::vector<ArrayRef> carried = initial(n, f.inits);
    while (f.step > 0 ? i < end : i > end) {
      carried.insert(carried.begin(), std::make_shared<Array>(scalar_array(Scalar::kI64, i)));
      carried = region(f.body, std::move(carried));
      i = rt::advanced(i, f.step);
    }
    define(n, std::move(carried), open);
  }

  void while_loop(const Node& n, const While& w) {
    std::vector<ArrayRef> carried = initial(n, w.inits);
    bool open = false;
    for (std::int64_t iteration = 0;; ++iteration) {
      const std::vector<ArrayRef> verdict = region(w.condition, carried);
      open = open || is_open(*verdict.at(0));
      if (verdict.at(0)->integers.at(0) == 0) break;
      carried.insert(carried.begin(), std::make_shared<Array>(scalar_array(Scalar::kI64, iteration)));
      carried = region(w.body, std::move(carried));
    }
    open_condition_ = open_condition_ || open;
    define(n, std::move(carried), open);
  }

  static bool is_open(const Array& a) { return !a.bounds.empty() && a.bounds[0] != 0; }

  void check(const Node& n, const Check& c) {
    if (c.guard && environment_.control(*c.guard) == 0) return;
    const rt::Exact left = environment_.exact(c.left, n.range);
    const rt::Exact right = environment_.exact(c.right, n.range);
    const bool equal = c.relation == Check::Relation::kEqual;
    if (equal ? rt::same_size(left, right) : left <= right) return;
    stop(n.range, rt::with_id(rt::with_sizes(c.message, left, right), equal ? "shape-mismatch" : "out-of-bounds"));
  }

  void print(const Print& p) {
    std::string line;
    for (std::size_t k = 0; k < p.items.size(); ++k) {
      if (k > 0) line += ' ';
      line += match(
          p.items[k], [](const std::string& s) { return s; }, [&](ValueId v) { return text_of(environment_.get(v)); });
    }
    if (options_.print) options_.print(line);
  }

  ArrayRef param(const Node& n, const Param& p) {
    const Scalar type = program_.type(n.results.at(0)).scalar;
    const auto given = options_.params.find(p.name);
    if (given != options_.params.end()) return std::make_shared<Array>(scalar_array(type, given->second));
    if (p.computed_default) return std::make_shared<Array>(environment_.get(*p.computed_default));
    if (!p.default_value) stop(n.range, "the param `" + p.name + "` has no value and no default [missing-input]");
    return std::make_shared<Array>(scalar_array(type, *p.default_value));
  }

  /// The file's contents; errors are reported at the input's line.
  Array read(const Node& n, const Input& i, Scalar type) {
    try {
      return options_.input(i.name, type);
    } catch (const std::runtime_error& error) { stop(n.range, rt::with_id(error.what(), "cannot-read")); }
  }

  /// Reads an input once: its shape may be needed before its own node.
  ArrayRef input(const Node& n, const Input& i) {
    const auto found = inputs_.find(i.name);
    if (found != inputs_.end()) return found->second;
    if (!options_.input) stop(n.range, "the input `" + i.name + "` has no data [missing-input]");
    const Type& type = program_.type(n.results.at(0));
    const auto array = std::make_shared<Array>(read(n, i, type.scalar));
    TDSL_CHECK(array->type == type.scalar, "an input is read as its declared element type");
    if (array->shape.size() != type.rank()) {
      stop(n.range, rt::other_rank_text(i.name, type.rank(), origin(i.name), array->shape.size(), array->shape) +
                        " [wrong-shape]");
    }
    const std::size_t stored = is_float(type.scalar) ? array->floats.size() : array->integers.size();
    TDSL_CHECK(stored == static_cast<std::size_t>(array->size()), "an input's shape fits its elements");
    if (type.has_sparse()) {
      // Sparse tensors never contain -0.
      for (double& x : array->floats) x += 0.0;
      for (double& x : array->imaginary) x += 0.0;
    }
    return inputs_.emplace(i.name, array).first->second;
  }

  ArrayRef checked_input(const Node& n, const Input& i) {
    const ArrayRef array = input(n, i);
    const std::vector<std::int64_t> declared = environment_.shape(n.results.at(0), n.range);
    if (declared != array->shape) {
      disagreement(n, i, array->shape, array->at_least);
      if (array->at_least && std::ranges::equal(array->shape, declared, std::ranges::less_equal()))
        return std::make_shared<Array>(extended(*array, declared));
      if (array->at_least) {
        stop(n.range, fmt::format("input {} should have shape {}, but the array{} has entries beyond it: they need at "
                                  "least {} [wrong-shape]",
                                  i.name, shape_text(declared), origin(i.name), shape_text(array->shape)));
      }
      stop(n.range, fmt::format("input {} should have shape {}, but the array{} has shape {} [wrong-shape]", i.name,
                                shape_text(declared), origin(i.name), shape_text(array->shape)));
    }
    return array;
  }

  /// The origin of the input's data: " in `x.npy`", or " (`x.npy`)" after its name; empty if unknown.
  [[nodiscard]] std::string origin(const std::string& input, bool behind_name = false) const {
    const std::string text = options_.origin ? options_.origin(input) : "";
    return text.empty() ? "" : behind_name ? " (`" + text + "`)" : " in `" + text + "`";
  }

  /// A dimension's extent and the input that determined it; empty: it was given.
  struct Bound {
    std::int64_t extent = 0;
    std::string text;
  };

  std::optional<Bound> bound(ValueId dimension, const std::string& name) {
    const auto given = options_.dimensions.find(name);
    if (given != options_.dimensions.end()) return Bound{given->second, ""};
    std::optional<Bound> exact;
    std::optional<Bound> least;  // from files without an explicit shape
    for_each_node(program_.body, [&](const Node& other) {
      const auto* i = std::get_if<Input>(&other.op);
      if (exact || i == nullptr) return;
      const Type& type = program_.type(other.results.at(0));
      for (std::size_t k = 0; k < type.rank() && !exact; ++k) {
        if (type.shape[k].as_value() != dimension) continue;
        const ArrayRef array = input(other, *i);
        const Bound here{array->shape.at(k), fmt::format("dimension {} of {}{}", k, i->name, origin(i->name, true))};
        if (!array->at_least)
          exact = here;
        else if (!least || least->extent < here.extent)
          least = here;
      }
    });
    return exact ? exact : least;
  }

  std::int64_t dimension(const Node& n, const Dimension& d) {
    const auto found = bound(n.results.at(0), d.name);
    if (!found)
      stop(n.range, "the dimension `" + d.name + "` has no extent: give --set " + d.name + "=... [missing-input]");
    return found->extent;
  }

  std::int64_t found(const Node& n, const Found& d) {
    const std::int64_t count = environment_.control(d.count);
    const auto given = options_.dimensions.find(d.name);
    if (given != options_.dimensions.end() && given->second != count)
      stop(n.range, rt::with_id(rt::found_text(d.name, count, given->second), "wrong-shape"));
    return count;
  }

  /// Stops if the input's shape disagrees in a named dimension with that of another input, or with a given extent.
  void disagreement(const Node& n, const Input& i, const std::vector<std::int64_t>& shape, bool at_least) {
    const Type& type = program_.type(n.results.at(0));
    for (std::size_t k = 0; k < type.rank(); ++k) {
      const auto value = type.shape[k].as_value();
      const std::string name = value ? program_.info(*value).name : "";
      const auto other = value ? bound(*value, name) : std::nullopt;
      if (!other || other->extent == shape[k] || (at_least && other->extent > shape[k])) continue;
      const std::string here = at_least ? rt::reaches_text(shape[k]) : fmt::format("has {}", shape[k]);
      stop(n.range, fmt::format("the inputs disagree about dimension {}: dimension {} of {}{} {}, but {} [wrong-shape]",
                                name, k, i.name, origin(i.name, true), here,
                                other->text.empty() ? fmt::format("--set {}={} fixes it", name, other->extent)
                                                    : fmt::format("{} has {}", other->text, other->extent)));
    }
  }

  ArrayRef sparse_random(const Node& n, const Random& r) {
    std::vector<std::int64_t> iterations;
    for (std::size_t k = 0; k + 1 < r.iterations.size(); ++k)
      iterations.push_back(environment_.control(r.iterations[k]));
    Array a = zeros(Scalar::kF64, environment_.shape(n.results.at(0), n.range));
    const Array& density = environment_.get(r.iterations.back());
    rt::for_each_drawn(rt::random_stream(options_.seed, r.site, iterations), density.floats.at(0), 0, a.floats.size(),
                       [&](std::uint64_t index, double value) { a.floats[index] = value; });
    // A different density draws different elements.
    for (std::size_t k = 0; k < a.floats.size() && !density.bounds.empty() && density.bounds[0] != 0; ++k)
      set_bound(a, k, 1.0);
    a.nonnegative = true;
    return std::make_shared<Array>(std::move(a));
  }

  ArrayRef random(const Node& n, const Random& r) {
    if (r.kind == Random::Kind::kSparse) return sparse_random(n, r);
    std::vector<std::int64_t> iterations;
    for (const ValueId v : r.iterations) iterations.push_back(environment_.control(v));
    const rt::RandomStream stream = rt::random_stream(options_.seed, r.site, iterations);
    const Scalar type = program_.type(n.results.at(0)).scalar;
    Array a = zeros(type, environment_.shape(n.results.at(0), n.range));
    for (std::size_t k = 0; k < a.floats.size(); ++k) {
      const std::uint64_t index = k;
      if (r.kind == Random::Kind::kUniform) {
        a.floats[k] =
            type == Scalar::kF32 ? static_cast<double>(rt::uniform_f32(stream, index)) : rt::uniform_f64(stream, index);
        continue;
      }
      const double exact = rt::normal_f64(stream, index);
      const bool narrow = type == Scalar::kF32;
      a.floats[k] = narrow ? static_cast<double>(static_cast<float>(exact)) : exact;
      const double ulp = std::fabs(exact) * (narrow ? kEpsilon<float> : kLibraryUlps * kEpsilon<double>);
      set_bound(a, k, ulp);
    }
    a.nonnegative = r.kind == Random::Kind::kUniform;
    return std::make_shared<Array>(std::move(a));
  }

  const Program& program_;
  const EvalOptions& options_;
  Environment environment_;
  Lifetimes lifetimes_;
  std::map<ValueId, ValueId> accumulations_;  ///< scalar_accumulations
  std::map<std::string, ArrayRef> inputs_;
  EvalResult result_;
  bool open_condition_ = false;
};

}  // namespace

}  // namespace eval

EvalResult evaluate(const Program& program, const EvalOptions& options) {
  return eval::Interpreter(program, options).run();
}

}  // namespace tdsl::ir
