#include <fmt/format.h>

#include <set>

#include "codegen/operations/enumerators.h"
#include "codegen/operations/nodes.h"
#include "codegen/operations/text.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/text/print.h"

namespace tdsl::codegen {

namespace {

/// Prints members as `name value`, in the order of the lists in fields.h. Members of an operation that equal those of a
/// default-constructed one are omitted.
class OperationPrinter {
 public:
  explicit OperationPrinter(const OperationProgram& program) : program_(program) {
    graph_.name = program.name;
    graph_.values = program.values;
  }

  std::string run() {
    text_ = "operations";
    visit_part(*this, program_);
    const std::string head = std::exchange(text_, "");
    for (const Step& s : program_.steps) step(s);
    return head + "\n" + undefined_values() + text_;
  }

  // --- Members of steps.

  void target(const ValueId& v, Sizes) { head({definition(v)}); }
  void results(const std::vector<RoutineStep::Result>& results) {
    std::vector<std::string> parts;
    for (const RoutineStep::Result& r : results) parts.push_back(definition(r.target) + (r.wanted ? "" : " unwanted"));
    head(parts);
  }
  void results(const std::vector<LoopStep::Result>& results) {
    std::vector<std::string> parts;
    for (const LoopStep::Result& r : results)
      parts.push_back(fmt::format("{} carried {} continues {}", definition(r.target), r.carried, r.continues));
    head(parts);
  }
  void inner(const char* name, const ValueId& v) { field(name, definition(v)); }
  void use(const char* name, const ValueId& v) { field(name, value(v)); }
  void use(const char* name, const std::optional<ValueId>& v) {
    if (v) field(name, value(*v));
  }
  void use(const char* name, const std::variant<std::string, ValueId>& item) {
    field(name,
          ir::match(
              item, [](const std::string& text) { return ir::quoted(text); }, [this](ValueId v) { return value(v); }));
  }
  void mention(const char* name, const ValueId& v) { field(name, value(v)); }
  void mention(const char* name, const Extent& e) { field(name, text(e)); }
  void mention(const char* name, const std::optional<Extent>& e) { extent(name, e); }
  void extent(const char* name, const Extent& e) {
    if (*name == '\0' || e != Extent()) field(name, text(e));
  }
  void extent(const char* name, const std::optional<Extent>& e) {
    if (e || *name == '\0') field(name, e ? text(*e) : "none");
  }
  void expr(const char* name, const Expr& e) {
    ir::for_each_read(e, [this](const ir::Read& r) { mentioned_.insert(r.tensor); });
    field(name, ir::print(graph_, e, {}));
  }
  void compute(const char* name, const ir::Compute& c) {
    ir::for_each_read(c, [this](const ir::Read& r) { mentioned_.insert(r.tensor); });
    if (c.base) mentioned_.insert(*c.base);
    if (c.iteration)
      for (const ir::StoredOperand& o : c.iteration->operands) mentioned_.insert(o.tensor);
    field(name, ir::print(c));
  }
  template <class Kernel>
  void nodes(const char* name, const Kernel& kernel) {
    const std::vector<NodeFacts> facts = facts_of(kernel);
    list(
        name, [](auto& to, auto& each) { visit_part(to, each); }, facts);
  }
  void labels(const char* name, const std::vector<ir::Label>& labels) {
    std::vector<std::string> parts;
    for (const ir::Label& l : labels) parts.push_back(ir::print(l));
    field(name, fmt::format("[{}]", fmt::join(parts, ", ")));
  }
  template <class T>
  void property(const char* name, const T& x) {
    if constexpr (std::is_enum_v<T>) {
      field(name, text(x));
    } else {
      property(name, x, T{});
    }
  }
  /// Omits a property that has its default, unless the property has no name.
  template <class T>
  void property(const char* name, const T& x, const T& otherwise) {
    if (*name == '\0' || x != otherwise) field(name, text(x));
  }
  void property(const char* name, const bool& x, const bool&) { flag(name, x); }
  template <class T>
  void property(const char* name, const std::optional<T>& x, const std::optional<T>&) {
    if (x) field(name, text(*x));
  }
  void property(const char* name, const record::Loop& loop) {
    field(name, loop.records ? std::string(name_of_enumerator(loop.range)) : "scalars");
  }
  void property(const char* name, const ir::Type& type) { field(name, ir::print(type)); }
  void property(const char* name, const SourceRange& range) { field(name, ir::print(range)); }
  void flag(const char* name, const bool& x) {
    if (x) field(name, "");
  }
  template <class Each, class List>
  void list(const char* name, const Each& each, const List& list) {
    if (list.empty()) return;
    require_head();
    std::vector<std::string> parts;
    for (const auto& element : list) parts.push_back(part([&] { each(*this, element); }));
    field(name, fmt::format("[{}]", fmt::join(parts, ", ")));
  }
  template <class Each, class Map>
  void map(const char* name, const Each& each, const Map& map) {
    list(
        name, [&](auto& to, auto& entry) { each(to, entry.first, entry.second); }, map);
  }
  void steps(const char* name, const Steps& steps) {
    field(name, "{\n");
    ++depth_;
    for (const Step& s : steps) step(s);
    --depth_;
    text_ += std::string(2 * depth_, ' ') + "}";
  }
  void pointer(const char* name, const std::shared_ptr<const RecordedOp>& op) {
    const RecordedOp usual;
    block(name, [&] { visit_operation(*this, *op, usual); });
  }
  void pointer(const char* name, const std::shared_ptr<const OperationStep>& step) {
    if (!step) return;
    block(name, [&] {
      kind_ = "operation";
      visit_step(*this, *step);
    });
  }
  void pointer(const char* name, const std::shared_ptr<const ir::Node>& node) {
    if (node) field(name, "{\n" + ir::print(graph_, *node, depth_ + 1) + std::string(2 * depth_, ' ') + "}");
  }
  void pointer(const char* name, const ir::ForeignRef& foreign) {
    if (foreign) field(name, ir::text_of(*foreign));
  }
  /// A kernel, or the sparse iteration of one.
  template <class Part>
  void pointer(const char* name, const Part& part) {
    if (part) block(name, [&] { visit_part(*this, *part); });
  }

  // --- Members of recorded operations; `otherwise`: of a default-constructed one.

  template <class T>
  void note(const char* name, const T& x, const T& otherwise) {
    property(name, x, otherwise);
  }
  void flag(const char* name, const bool& x, const bool&) { flag(name, x); }
  void estimate(const char* name, const double& x, const double& otherwise) { property(name, x, otherwise); }
  template <class T>
  void number(const char* name, const T& x, const T& otherwise) {
    property(name, x, otherwise);
  }
  void tensor(const char* name, const ValueId& v, const ValueId&) {
    if (v.valid()) field(name, value(v));
  }
  void outputs(const std::vector<plan::TensorDesc>& outputs, const std::vector<plan::TensorDesc>&) {
    TDSL_CHECK(outputs.empty(), "outputs follow when the operation is recorded");
  }
  template <class Each, class T>
  void list(const char* name, const Each& each, const std::vector<T>& list, const std::vector<T>&) {
    const T usual{};
    this->list(
        name, [&](auto& to, auto& element) { each(to, element, usual); }, list);
  }

 private:
  void step(const Step& s) {
    text_ += std::string(2 * depth_, ' ');
    place_ = s.range;
    broken_ = false;
    kind_ = kStepNames[s.op.index()];
    const std::size_t start = text_.size();
    std::visit([this](const auto& op) { visit_step(*this, op); }, s.op);
    require_head();
    if (text_.size() > start && text_[start] == ' ') text_.erase(start, 1);
    text_ += '\n';
  }

  /// `%5:f64 "x", %6:f64 "y" = routine @0:3:1-3:9`
  void head(const std::vector<std::string>& targets) {
    const std::string_view kind = std::exchange(kind_, {});
    separate();
    if (!targets.empty()) text_ += fmt::format("{} = ", fmt::join(targets, ", "));
    text_ += fmt::format("{} {}", kind, ir::print(place_));
  }

  void require_head() {
    if (!kind_.empty()) head({});
  }

  void separate() { text_ += broken_ ? "\n" + std::string(2 * depth_, ' ') : " "; }
  /// Every member is preceded by a separator.
  void field(std::string_view name, const std::string& content) {
    require_head();
    separate();
    text_ += name;
    if (!name.empty() && !content.empty()) text_ += ' ';
    text_ += content;
  }

  /// Text of an element, `default` if all its members are omitted.
  template <class F>
  std::string part(const F& print) {
    const std::string outer = std::exchange(text_, "");
    const bool broken = std::exchange(broken_, false);
    print();
    const std::string inner = std::exchange(text_, outer);
    broken_ = broken;
    return inner.empty() ? "default" : inner.substr(1);
  }

  /// A part with one member per line.
  template <class F>
  void block(const char* name, const F& print) {
    field(name, "{");
    ++depth_;
    const bool broken = std::exchange(broken_, true);
    print();
    broken_ = broken;
    --depth_;
    text_ += "\n" + std::string(2 * depth_, ' ') + "}";
  }

  [[nodiscard]] std::string value(ValueId v) {
    mentioned_.insert(v);
    return fmt::format("%{}", v.id);
  }
  /// The value, with type and name at its first occurrence.
  [[nodiscard]] std::string definition(ValueId v) {
    if (!defined_.insert(v).second) return value(v);
    look(program_.type(v).shape);
    look(program_.info(v).tile);
    return ir::definition_text(graph_, v, place_) + (program_.is_host(v) ? " host" : "");
  }

  void look(const std::vector<Extent>& extents) {
    for (const Extent& e : extents) static_cast<void>(text(e));
  }

  [[nodiscard]] std::string text(const Extent& e) {
    return e.to_string([this](ValueId v) { return value(v); });
  }
  [[nodiscard]] std::string text(const std::optional<Extent>& e) { return e ? text(*e) : "none"; }
  [[nodiscard]] static std::string text(const std::string& s) { return ir::quoted(s); }
  [[nodiscard]] static std::string text(const ir::Literal& l) { return ir::constant_text(l); }
  [[nodiscard]] static std::string text(const std::vector<bool>& flags) {
    std::vector<int> numbers(flags.begin(), flags.end());
    return fmt::format("[{}]", fmt::join(numbers, ", "));
  }
  template <class T>
  [[nodiscard]] static std::string text(const T& x) {
    if constexpr (std::is_enum_v<T>) {
      return std::string(name_of_enumerator(x));
    } else if constexpr (std::is_floating_point_v<T>) {
      return ir::constant_text(ir::Literal(x));
    } else {
      return std::to_string(x);
    }
  }

  /// `value` lines for values that no step defines: those inside loops, fused operators and products with an epilogue.
  std::string undefined_values() {
    std::string lines;
    place_ = {};
    for (bool found = true; found;) {
      found = false;
      const std::set<ValueId> mentioned = mentioned_;
      for (const ValueId v : mentioned) {
        if (defined_.contains(v) || !v.valid() || static_cast<std::size_t>(v.id) >= program_.values.size()) continue;
        lines += "value " + definition(v) + "\n";
        found = true;
      }
    }
    return lines;
  }

  const OperationProgram& program_;
  ir::Program graph_;  ///< values only, for printing expressions
  std::string text_;
  std::string_view kind_;  ///< of the current step until its head is printed, then empty
  SourceRange place_;
  std::size_t depth_ = 0;
  bool broken_ = false;  ///< one member per line
  std::set<ValueId> mentioned_;
  std::set<ValueId> defined_;
};

}  // namespace

std::string print(const OperationProgram& program) { return OperationPrinter(program).run(); }

}  // namespace tdsl::codegen
