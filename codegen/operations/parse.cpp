#include <algorithm>
#include <utility>

#include "codegen/operations/enumerators.h"
#include "codegen/operations/nodes.h"
#include "codegen/operations/text.h"
#include "ir/text/node_parser.h"

namespace tdsl::codegen {

namespace {

/// Reads members in the order of the lists in fields.h. A missing member keeps its default.
class OperationParser : ir::NodeParser {
 public:
  explicit OperationParser(std::string_view text) : NodeParser(text) {}

  OperationProgram run() {
    cursor_.expect("operations");
    visit_part(*this, result_);
    while (cursor_.accept("value")) {
      static_cast<void>(defined());
      settle_places({});
    }
    while (!cursor_.at_end()) result_.steps.push_back(step());
    result_.values = std::move(program_.values);
    result_.host.resize(result_.values.size());
    return std::move(result_);
  }

  // --- Members of steps.

  void target(ValueId& v, Sizes) {
    if (heads_.size() != 1) cursor_.fail("the step defines one value");
    v = heads_.front().value;
    heads_.clear();
  }
  void results(std::vector<RoutineStep::Result>& results) {
    for (const Head& h : std::exchange(heads_, {})) results.push_back({h.value, h.wanted});
  }
  void results(std::vector<LoopStep::Result>& results) {
    for (const Head& h : std::exchange(heads_, {})) results.push_back({h.value, h.carried, h.continues});
  }
  void inner(const char* name, ValueId& v) {
    require(name);
    v = defined();
    settle_places(place_);
  }
  void use(const char* name, ValueId& v) { mention(name, v); }
  void use(const char* name, std::optional<ValueId>& v) {
    if (present(name)) v = value();
  }
  void use(const char* name, std::variant<std::string, ValueId>& item) {
    require(name);
    if (cursor_.peek() == '"') {
      item = cursor_.string();
    } else {
      item = value();
    }
  }
  void mention(const char* name, ValueId& v) {
    require(name);
    v = value();
  }
  void mention(const char* name, Extent& e) {
    require(name);
    e = NodeParser::extent();
  }
  void mention(const char* name, std::optional<Extent>& e) { extent(name, e); }
  void extent(const char* name, Extent& e) {
    if (present(name)) e = NodeParser::extent();
  }
  void extent(const char* name, std::optional<Extent>& e) {
    if (present(name) && !cursor_.accept("none")) e = NodeParser::extent();
  }
  void expr(const char* name, Expr& e) {
    require(name);
    labels_.clear();
    e = NodeParser::expr();
  }
  void compute(const char* name, ir::Compute& c) {
    require(name);
    cursor_.expect("compute");
    c = NodeParser::compute();
  }
  template <class Kernel>
  void nodes(const char* name, Kernel& kernel) {
    std::vector<NodeFacts> facts;
    list(
        name, [](auto& to, auto& each) { visit_part(to, each); }, facts);
    if (!set_facts(kernel, facts)) cursor_.fail("no node has this number");
  }
  void labels(const char* name, std::vector<ir::Label>& labels) {
    require(name);
    labels_.clear();
    labels = label_list();
  }
  template <class T>
  void property(const char* name, T& x) {
    if (present(name)) read(x);
  }
  template <class T>
  void property(const char* name, T& x, const T&) {
    property(name, x);
  }
  void property(const char* name, bool& x) { flag(name, x); }
  void flag(const char* name, bool& x) { x = present(name); }
  template <class Each, class T>
  void list(const char* name, const Each& each, std::vector<T>& list) {
    if (present(name)) NodeParser::list("[", "]", [&] { element([&] { each(*this, list.emplace_back()); }); });
  }
  template <class Each, class T, std::size_t N>
  void list(const char* name, const Each& each, std::array<T, N>& list) {
    std::size_t k = 0;
    const auto next = [&] {
      if (k == N) cursor_.fail("too many elements");
      each(*this, list[k++]);
    };
    if (present(name)) NodeParser::list("[", "]", [&] { element(next); });
  }
  template <class Each, class Map>
  void map(const char* name, const Each& each, Map& map) {
    const auto entry = [&] {
      std::remove_const_t<typename Map::value_type::first_type> key{};
      typename Map::value_type::second_type value{};
      each(*this, key, value);
      map.insert({key, value});
    };
    if (present(name)) NodeParser::list("[", "]", [&] { element(entry); });
  }
  void steps(const char* name, Steps& steps) {
    require(name);
    cursor_.expect("{");
    while (!cursor_.accept("}")) steps.push_back(step());
  }
  void pointer(const char* name, std::shared_ptr<const RecordedOp>& pointer) {
    require(name);
    auto op = std::make_shared<RecordedOp>();
    block([&] { visit_operation(*this, *op); });
    pointer = std::move(op);
  }
  void pointer(const char* name, std::shared_ptr<const OperationStep>& pointer) {
    if (!present(name)) return;
    block([&] {
      Step inner = step();
      if (!std::holds_alternative<OperationStep>(inner.op)) cursor_.fail("an epilogue is an operation");
      pointer = std::make_shared<const OperationStep>(std::get<OperationStep>(std::move(inner.op)));
    });
  }
  void pointer(const char* name, std::shared_ptr<const ir::Node>& pointer) {
    if (present(name)) block([&] { pointer = std::make_shared<const ir::Node>(node()); });
  }
  void pointer(const char* name, ir::ForeignRef& pointer) {
    if (present(name)) pointer = ir::parse_foreign(cursor_);
  }
  template <class T>
  void pointer(const char* name, std::shared_ptr<const T>& pointer) {
    if (!present(name)) return;
    auto part = std::make_shared<T>();
    block([&] { visit_part(*this, *part); });
    pointer = std::move(part);
  }
  template <class T>
  void pointer(const char* name, std::optional<T>& part) {
    if (present(name)) block([&] { visit_part(*this, part.emplace()); });
  }

  // --- Members of recorded operations.

  template <class T>
  void note(const char* name, T& x) {
    property(name, x);
  }
  void estimate(const char* name, double& x) { property(name, x); }
  template <class T>
  void number(const char* name, T& x) {
    extent(name, x);
  }
  void tensor(const char* name, ValueId& v) {
    if (present(name)) v = value();
  }
  void outputs(const std::vector<plan::TensorDesc>&) {}

 private:
  /// A target before the `=` of a step.
  struct Head {
    ValueId value;
    bool wanted = true;
    int carried = 0;
    int continues = -1;
  };

  std::vector<Head> heads() {
    std::vector<Head> heads;
    if (cursor_.peek() != '%') return heads;
    do {
      Head& h = heads.emplace_back();
      h.value = defined();
      h.wanted = !cursor_.accept("unwanted");
      if (!cursor_.accept("carried")) continue;
      read(h.carried);
      cursor_.expect("continues");
      read(h.continues);
    } while (cursor_.accept(","));
    cursor_.expect("=");
    return heads;
  }

  Step step() {
    std::vector<Head> heads = this->heads();
    const std::string name = cursor_.word();
    const auto kind = std::ranges::find(kStepNames, name);
    if (kind == kStepNames.end()) cursor_.fail("no step is called `" + name + "`");
    Step s{place().value_or(SourceRange{}), made(static_cast<std::size_t>(kind - kStepNames.begin()),
                                                 std::make_index_sequence<std::variant_size_v<StepOp>>())};
    settle_places(s.range);
    const std::vector<Head> outer_heads = std::exchange(heads_, std::move(heads));
    const SourceRange outer_place = std::exchange(place_, s.range);
    std::visit([this](auto& op) { visit_step(*this, op); }, s.op);
    if (!heads_.empty()) cursor_.fail("the step defines no value");
    if (const auto* o = std::get_if<OperationStep>(&s.op); o != nullptr && !o->kernel)
      cursor_.fail("an operation has a kernel");
    heads_ = outer_heads;
    place_ = outer_place;
    return s;
  }

  template <std::size_t... K>
  static StepOp made(std::size_t kind, std::index_sequence<K...>) {
    StepOp op;
    static_cast<void>(((K == kind && (op.emplace<K>(), true)) || ...));
    return op;
  }

  /// A value, with its definition at the first occurrence.
  ValueId defined() {
    const ValueId v = value();
    if (cursor_.peek() != ':') return v;
    static_cast<void>(definition_of(v));
    result_.host.resize(std::max(result_.host.size(), program_.values.size()));
    result_.host[static_cast<std::size_t>(v.id)] = cursor_.accept("host");
    return v;
  }

  bool present(const char* name) { return !omitted_ && (*name == '\0' || cursor_.accept(name)); }
  void require(const char* name) {
    if (*name != '\0') cursor_.expect(name);
  }
  template <class F>
  void block(const F& content) {
    cursor_.expect("{");
    content();
    cursor_.expect("}");
  }
  template <class F>
  void element(const F& read) {
    omitted_ = cursor_.accept("default");
    read();
    omitted_ = false;
  }

  template <class T>
  void read(T& x) {
    if constexpr (std::is_enum_v<T>) {
      const std::string name = cursor_.word();
      const std::optional<T> found = enumerator_named<T>(name);
      if (!found) cursor_.fail("no property is called `" + name + "`");
      x = *found;
    } else if constexpr (std::is_unsigned_v<T>) {
      x = static_cast<T>(cursor_.natural());
    } else {
      x = static_cast<T>(cursor_.integer());
    }
  }
  void read(double& x) {
    const ir::Literal l = cursor_.literal();
    x = std::holds_alternative<double>(l) ? std::get<double>(l) : static_cast<double>(std::get<std::int64_t>(l));
  }
  void read(std::string& x) { x = cursor_.string(); }
  void read(ir::Literal& x) { x = cursor_.literal(); }
  void read(ir::Type& x) { x = type(); }
  void read(SourceRange& x) { x = place().value_or(SourceRange{}); }
  void read(std::vector<bool>& x) {
    NodeParser::list("[", "]", [&] { x.push_back(cursor_.natural() != 0); });
  }
  void read(record::Loop& x) {
    record::Known known = record::Known::kStart;
    const bool scalars = cursor_.accept("scalars");
    if (!scalars) read(known);
    x = scalars ? record::kScalars : record::Loop(known);
  }
  template <class T>
  void read(std::optional<T>& x) {
    read(x.emplace());
  }

  OperationProgram result_;
  std::vector<Head> heads_;  ///< of the step being read
  SourceRange place_;
  bool omitted_ = false;  ///< all members have their defaults
};

}  // namespace

OperationProgram parse_operations(std::string_view text) { return OperationParser(text).run(); }

}  // namespace tdsl::codegen
