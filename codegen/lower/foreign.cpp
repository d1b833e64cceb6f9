#include "codegen/lower/foreign.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/print/writer.h"
#include "codegen/relations/describe.h"

namespace tdsl::codegen {

namespace {

class ForeignLowering {
 public:
  ForeignLowering(FamilyBuilder& builder, const ir::Node& node, const ir::Routine& routine)
      : builder_(builder), node_(node), routine_(routine) {}

  void run() {
    step_.kernel = routine_.foreign;
    Extent elements;
    for (const ValueId v : routine_.operands) elements = elements + operand(builder_.resolve(v));
    for (const ValueId v : node_.results) elements = elements + result(v);
    step_.name = step_.head = routine_.foreign->name;
    step_.flops = Extent(static_cast<std::int64_t>(routine_.foreign->operations)) * elements;
    step_.site = builder_.new_site();
    builder_.add(node_.range, std::move(step_));
  }

 private:
  [[nodiscard]] Extent size_of(ValueId v) {
    Extent elements(1);
    for (const Extent& e : builder_.type(v).shape) elements = elements * builder_.rewritten(e, node_.range);
    return elements;
  }

  Extent operand(ValueId v) {
    step_.outer[v] = v;
    step_.arguments.push_back(v);
    if (builder_.is_host(v)) return Extent(1);
    if (std::ranges::find(step_.reads, v) == step_.reads.end()) step_.reads.push_back(v);
    return size_of(v);
  }

  Extent result(ValueId v) {
    ir::Type type = builder_.type(v);
    for (Extent& e : type.shape) e = builder_.rewritten(e, node_.range);
    builder_.program().values[static_cast<std::size_t>(v.id)].type = type;
    step_.results.push_back({v, static_cast<int>(step_.results.size()), -1});
    return size_of(v);
  }

  FamilyBuilder& builder_;
  const ir::Node& node_;
  const ir::Routine& routine_;
  LoopStep step_;
};

class ForeignEmitter {
 public:
  ForeignEmitter(const LoopRequest& request, const std::string& call)
      : request_(request), step_(request.step), call_(call) {}

  EmittedLoop run() {
    body_.indent();
    std::size_t input = 0;
    int output = 0;
    std::string arguments;
    for (const ir::Foreign::Parameter& p : step_.kernel->parameters) {
      const std::string argument = p.is_output ? result(p, output++) : operand(p, step_.arguments[input++]);
      arguments += (arguments.empty() ? "" : ", ") + argument;
    }
    body_.line("{}({});", call_, arguments);
    std::string signature = fmt::format("void {}(const TaskArgs& t", request_.name);
    for (const ValueId v : made_.captures)
      signature += fmt::format(", {} {}", type(request_.program.type(v).scalar), request_.value_name(v));
    made_.needs.add(Header::kTiles);
    made_.needs.add(Header::kElements);
    made_.function = fmt::format("{}) {{\n{}}}\n", signature, body_.text());
    return std::move(made_);
  }

 private:
  [[nodiscard]] static std::string_view type(ir::Scalar s) { return cpp_type(s); }

  std::string operand(const ir::Foreign::Parameter& p, ValueId v) {
    if (request_.program.is_host(v)) {
      if (std::ranges::find(made_.captures, v) == made_.captures.end()) made_.captures.push_back(v);
      return request_.value_name(v);
    }
    const auto k = std::ranges::find(step_.reads, v) - step_.reads.begin();
    if (p.rank == 0) return fmt::format("t.in<{}, 0>({})()", type(p.type), k);
    return fmt::format("rt::tile_in<{}, {}>(t, {})", type(p.type), p.rank, k);
  }

  std::string result(const ir::Foreign::Parameter& p, int k) {
    if (p.rank == 0) {
      if (p.fresh) body_.line("t.out<{}, 0>({})() = {{}};", type(p.type), k);
      return fmt::format("t.out<{}, 0>({})()", type(p.type), k);
    }
    if (p.fresh) body_.line("rt::fill(rt::elements_out<{0}, {1}>(t, {2}), {0}{{}});", type(p.type), p.rank, k);
    return fmt::format("rt::tile_out<{}, {}>(t, {})", type(p.type), p.rank, k);
  }

  const LoopRequest& request_;
  const LoopStep& step_;
  const std::string& call_;
  EmittedLoop made_;
  Writer body_;
};

}  // namespace

void lower_foreign(FamilyBuilder& builder, const ir::Node& node, const ir::Routine& routine) {
  ForeignLowering(builder, node, routine).run();
}

EmittedLoop emit_foreign(const LoopRequest& request, const std::string& call) {
  return ForeignEmitter(request, call).run();
}

namespace {

std::string parameter_type(const ir::Foreign::Parameter& p) {
  const std::string element(ir::cpp_type_of(p.type));
  if (p.rank == 0) return p.is_output ? element + "&" : element;
  return fmt::format("::tdsl::Tile<{}{}, {}>", p.is_output ? "" : "const ", element, p.rank);
}

}  // namespace

ForeignCall foreign_call(const ir::Foreign& function, const std::string& name) {
  std::string types;
  std::string parameters;
  std::string arguments;
  for (std::size_t k = 0; k < function.parameters.size(); ++k) {
    const std::string_view between = k == 0 ? "" : ", ";
    const std::string type = parameter_type(function.parameters[k]);
    types += fmt::format("{}{}", between, type);
    parameters += fmt::format("{}{} tdsl_{}", between, type, k + 1);
    arguments += fmt::format("{}tdsl_{}", between, k + 1);
  }
  const std::string result(function.is_kernel ? "void" : ir::cpp_type_of(function.result));
  return {fmt::format("{} {}({});\n", result, name, types),
          fmt::format("{} {}({}) {{\n  return ::{}({});\n}}\n", result, name, parameters, function.name, arguments)};
}

}  // namespace tdsl::codegen
