#include "tools/tdslc/declaration.h"

#include "ir/text/print.h"

namespace tdsl::tools {

rt::ElementType element_type_of(ir::Scalar s) {
  switch (s) {
    case ir::Scalar::kBool: return rt::ElementType::kBool;
    case ir::Scalar::kI32: return rt::ElementType::kI32;
    case ir::Scalar::kI64: return rt::ElementType::kI64;
    case ir::Scalar::kF32: return rt::ElementType::kF32;
    case ir::Scalar::kF64: break;
  }
  return rt::ElementType::kF64;
}

ir::Literal literal_of(const rt::ScalarValue& value) {
  return ir::match(
      value, [](bool b) -> ir::Literal { return b; }, [](std::int32_t i) -> ir::Literal { return std::int64_t{i}; },
      [](std::int64_t i) -> ir::Literal { return i; }, [](float f) -> ir::Literal { return static_cast<double>(f); },
      [](double d) -> ir::Literal { return d; });
}

rt::ProgramDeclaration declaration_of(const ir::Program& program) {
  rt::ProgramDeclaration d;
  d.name = program.name;
  d.source_file = program.files.empty() ? program.name : program.files.front();
  d.version = program.name + ", evaluated by tdslc " + TDSL_VERSION;
  ir::for_each_node(program.body, [&](const ir::Node& n) {
    if (const auto* p = std::get_if<ir::Param>(&n.op)) {
      d.params.push_back({p->name, element_type_of(program.type(n.results[0]).scalar), ir::default_text(*p)});
    } else if (const auto* i = std::get_if<ir::Input>(&n.op)) {
      d.inputs.push_back({i->name, ir::declared_type(program, program.type(n.results[0]))});
    } else if (const auto* o = std::get_if<ir::Output>(&n.op)) {
      d.outputs.push_back({o->name, ir::declared_type(program, program.type(o->value))});
    } else if (const auto* dim = std::get_if<ir::Dimension>(&n.op)) {
      d.dimensions.push_back(dim->name);
    }
  });
  return d;
}

}  // namespace tdsl::tools
