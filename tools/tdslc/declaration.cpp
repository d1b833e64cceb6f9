#include "tools/tdslc/front.h"

#include <fmt/format.h>

#include "ir/eval/elements.h"

namespace tdsl::tools {

namespace {

std::string type_text(const ir::Program& program, const ir::Type& type) {
  std::string dims;
  for (std::size_t d = 0; d < type.rank(); ++d) {
    const bool sparse = d < type.sparse.size() && type.sparse[d];
    dims +=
        std::string(dims.empty() ? "" : ", ") + (sparse ? "sparse " : "") + type.shape[d].to_string([&](ir::ValueId v) {
          return program.info(v).name.empty() ? std::string("?") : program.info(v).name;
        });
  }
  return std::string(ir::name_of(type.scalar)) + (dims.empty() ? "" : "[" + dims + "]");
}

}  // namespace

ir::Literal literal_of(const rt::ScalarValue& value) {
  return ir::match(value,
                   [](auto v) { return ir::eval::literal_of(rt::element_type_of<decltype(v)>, ir::eval::slot_of(v)); });
}

rt::ProgramDeclaration declaration_of(const ir::Program& program) {
  rt::ProgramDeclaration d;
  d.name = program.name;
  d.source_file = program.files.empty() ? program.name : program.files.front();
  d.version = program.name + ", evaluated by tdslc " + TDSL_VERSION;
  ir::for_each_node(program.body, [&](const ir::Node& n) {
    if (const auto* p = std::get_if<ir::Param>(&n.op)) {
      d.params.push_back({p->name, program.type(n.results[0]).scalar, ir::default_text(*p)});
    } else if (const auto* i = std::get_if<ir::Input>(&n.op)) {
      d.inputs.push_back({i->name, type_text(program, program.type(n.results[0]))});
    } else if (const auto* o = std::get_if<ir::Output>(&n.op)) {
      d.outputs.push_back({o->name, type_text(program, program.type(o->value))});
    } else if (const auto* dim = std::get_if<ir::Dimension>(&n.op)) {
      d.dimensions.push_back(dim->name);
    }
  });
  return d;
}

}  // namespace tdsl::tools
