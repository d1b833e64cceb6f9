#include "ir/analysis/serial_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/analysis/carried.h"
#include "ir/analysis/loop_variables.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

/// Reductions over up to this many points are not worth distributing.
constexpr std::int64_t kFewPoints = 64;

class SerialCheck {
 public:
  SerialCheck(const Program& program, const Node& loop, SerialWork work)
      : program_(program), loop_(loop), work_(work), variables_(program, loop) {}

  std::optional<NotSerial> run() {
    node(loop_);
    if (!found_ && work_ == SerialWork::kScalars && variables_.tensor_clash()) {
      const LoopVariables::Clash& clash = *variables_.tensor_clash();
      const std::string& name = program_.info(clash.older).name;
      refuse(loop_.range, fmt::format("it needs a copy of {}", name.empty() ? "a tensor" : "`" + name + "`"));
    }
    return found_;
  }

 private:
  void refuse(const SourceRange& range, std::string reason) {
    if (!found_) found_ = NotSerial{range, std::move(reason)};
  }

  void region(const Region& r) {
    for (const Node& n : r.nodes) node(n);
  }

  void node(const Node& n) {
    for (const CarriedVariable& variable : carried_by(n)) {
      if (program_.type(variable.names[0]).is_compressed()) refuse(n.range, "it carries a compressed matrix");
    }
    const auto no = [&](const char* what) { return [this, &n, what](const auto&) { refuse(n.range, what); }; };
    match(
        n.op, [&](const Compute& c) { compute(n, c); }, [&](const For& f) { region(f.body); },
        [&](const While& w) {
          region(w.condition);
          region(w.body);
        },
        [&](const If& i) {
          region(i.then_region);
          region(i.else_region);
        },
        [](const Assert&) {}, [](const Check&) {}, [&](const Print& x) { no("it prints")(x); },
        [&](const Random&) {
          if (program_.type(n.results[0]).rank() > 0) refuse(n.range, "it draws tensors of random numbers");
        },
        [&](const Routine& r) { routine(n, r); }, [&](const Chain& x) { no("it multiplies a chain of matrices")(x); },
        [&](const Choose& x) { no("it chooses between forms")(x); },
        [&](const Fused& x) { no("it holds a fused operator")(x); },
        [&](const Output& x) { no("it holds an output")(x); },
        [&](const Dimension& x) { no("it binds a dimension")(x); },
        [&](const Found& x) { no("it finds an extent by data")(x); },
        [&](const Param& x) { no("it reads an option")(x); }, [&](const Input& x) { no("it reads a file")(x); },
        [&](const Gradient& x) { no("it takes a derivative")(x); });
  }

  void compute(const Node& n, const Compute& c) {
    for (const ValueId v : operands_of(program_, n)) {
      if (program_.type(v).is_compressed())
        return refuse(n.range, "it goes over the stored elements of a matrix: parallel work");
    }
    if (program_.type(n.results[0]).is_compressed()) return refuse(n.range, "it makes a compressed matrix");
    work_ == SerialWork::kScalars ? scalars(n, c) : tensors(n, c);
  }

  void scalars(const Node& n, const Compute& c) {
    if (!c.out.empty()) return refuse(n.range, "it computes whole tensors");
    for (const ValueId v : n.results) {
      const bool element = c.base && n.results.size() == 1 && !c.left.empty();
      if (program_.type(v).rank() > 0 && !element) return refuse(n.range, "it computes whole tensors");
    }
    if (!c.reduce.empty() && !few_points(c) && !reads_written(c))
      refuse(n.range, "it reduces tensors that it does not write: parallel work");
  }

  /// Routines on matrices stand among whole tensors.
  void routine(const Node& n, const Routine& r) {
    const auto fits = [&](ValueId v) {
      const Type& type = program_.type(v);
      return type.rank() <= 2 && !type.is_compressed() && is_real(type.scalar);
    };
    const bool all = std::ranges::all_of(r.operands, fits) && std::ranges::all_of(n.results, fits);
    if (work_ == SerialWork::kScalars || !runs_in_tasks(r.kind) || !all || program_.type(r.operands[0]).rank() != 2)
      return refuse(n.range, "it calls a library routine");
    if (std::ranges::any_of(r.operands, [this](ValueId v) { return changes_size(v); }))
      refuse(n.range, "its matrices change their sizes");
  }

  /// True if the extents vary between iterations.
  [[nodiscard]] bool changes_size(ValueId v) const {
    return std::ranges::any_of(program_.type(v).shape, [this](const Extent& e) {
      return std::ranges::any_of(e.values(), [this](ValueId x) { return variables_.is_inside(x); });
    });
  }

  void tensors(const Node& n, const Compute& c) {
    for (const ValueId v : n.results) {
      if (changes_size(v) && !variables_.is_temporary(v)) refuse(n.range, "its tensors change their sizes");
    }
    if (!c.left.empty() && !c.combine && !places_once(c))
      refuse(n.range, "whether it writes an element twice depends on data");
    if ((c.base || !c.left.empty()) && n.results.size() > 1) refuse(n.range, "it changes several tensors at once");
  }

  /// True if different points certainly write different elements.
  static bool places_once(const Compute& c) {
    for (std::size_t label = 0; label < c.out.size(); ++label) {
      const auto own = [&](const Expr& e) { return is_label_and_constant(e, static_cast<std::int32_t>(label)); };
      if (std::ranges::none_of(c.left, own)) return false;
    }
    return true;
  }

  /// `i`, `i + 1`, `n - i`.
  static bool is_label_and_constant(const Expr& e, std::int32_t label) {
    if (bare_label(e) == label) return true;
    const auto* b = std::get_if<Binary>(&e->op);
    if (b == nullptr || (b->op != BinaryOp::kAdd && b->op != BinaryOp::kSub)) return false;
    return (is_label_and_constant(b->left, label) && !mentions_labels(b->right)) ||
           (!mentions_labels(b->left) && is_label_and_constant(b->right, label));
  }

  static bool few_points(const Compute& c) {
    std::int64_t points = 1;
    for (const Label& l : c.reduce) {
      const auto extent = (l.end - l.begin).constant();
      if (!extent || *extent > kFewPoints) return false;
      points *= std::max<std::int64_t>(*extent, 0);
    }
    return points <= kFewPoints;
  }

  /// True if the reduction reads elements of a tensor that the loop carries.
  [[nodiscard]] bool reads_written(const Compute& c) const {
    bool found = false;
    for (const Expr& e : c.bodies) {
      for_each_read(e,
                    [&](const Read& r) { found = found || (!r.subscripts.empty() && variables_.is_inside(r.tensor)); });
    }
    return found;
  }

  const Program& program_;
  const Node& loop_;
  SerialWork work_;
  LoopVariables variables_;
  std::optional<NotSerial> found_;
};

}  // namespace

std::optional<NotSerial> why_not_serial(const Program& program, const Node& loop, SerialWork work) {
  return SerialCheck(program, loop, work).run();
}

bool is_marked_serial(const Node& node) {
  if (const auto* f = std::get_if<For>(&node.op)) return f->serial;
  const auto* w = std::get_if<While>(&node.op);
  return w != nullptr && w->serial;
}

}  // namespace tdsl::ir
