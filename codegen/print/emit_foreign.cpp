#include "codegen/print/emit_foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "codegen/print/writer.h"

namespace tdsl::codegen {

namespace {

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

std::string parameter_type(const ir::Foreign::Parameter& p) {
  const std::string element(ir::cpp_type_of(p.type));
  if (p.rank == 0) return p.is_output ? element + "&" : element;
  return fmt::format("::tdsl::Tile<{}{}, {}>", p.is_output ? "" : "const ", element, p.rank);
}

/// The operand `name` as the user's function takes it: complex numbers have the layout of std::complex.
std::string users_operand(const ir::Foreign::Parameter& p, const std::string& name) {
  if (!ir::is_complex(p.type)) return name;
  const std::string number = fmt::format("std::complex<{}>", ir::cpp_type_of(ir::part_type(p.type)));
  if (p.rank == 0 && p.is_output) return fmt::format("reinterpret_cast<{}&>({})", number, name);
  if (p.rank == 0) return fmt::format("{0}({1}.re, {1}.im)", number, name);
  const std::string element = (p.is_output ? "" : "const ") + number;
  const auto each = [&](const char* what) {
    std::string list;
    for (std::size_t d = 0; d < p.rank; ++d) list += fmt::format("{}{}.{}({})", d == 0 ? "" : ", ", name, what, d);
    return list;
  };
  return fmt::format("::tdsl::Tile<{0}, {1}>(reinterpret_cast<{0}*>({2}.data()), {{{3}}}, {{{4}}})", element, p.rank,
                     name, each("extent"), each("stride"));
}

}  // namespace

EmittedLoop emit_foreign(const LoopRequest& request, const std::string& call) {
  return ForeignEmitter(request, call).run();
}

ForeignCall foreign_call(const ir::Foreign& function, const std::string& name) {
  std::string types;
  std::string parameters;
  std::string arguments;
  for (std::size_t k = 0; k < function.parameters.size(); ++k) {
    const std::string_view between = k == 0 ? "" : ", ";
    const std::string type = parameter_type(function.parameters[k]);
    types += fmt::format("{}{}", between, type);
    parameters += fmt::format("{}{} tdsl_{}", between, type, k + 1);
    arguments += fmt::format("{}{}", between, users_operand(function.parameters[k], fmt::format("tdsl_{}", k + 1)));
  }
  const std::string result(function.is_kernel ? "void" : ir::cpp_type_of(function.result));
  const std::string call = fmt::format("::{}({})", function.name, arguments);
  const std::string body =
      !function.is_kernel && ir::is_complex(function.result)
          ? fmt::format("const auto tdsl_z = {};\n  return {{tdsl_z.real(), tdsl_z.imag()}};", call)
          : fmt::format("return {};", call);
  return {fmt::format("{} {}({});\n", result, name, types),
          fmt::format("{} {}({}) {{\n  {}\n}}\n", result, name, parameters, body)};
}

}  // namespace tdsl::codegen
