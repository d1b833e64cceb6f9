#include <algorithm>

#include "ir/eval/elements.h"
#include "ir/text/print.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

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
      d.inputs.push_back({i->name, ir::declared_type(program, program.type(n.results[0]))});
    } else if (const auto* o = std::get_if<ir::Output>(&n.op); o != nullptr && !o->record) {
      d.outputs.push_back({o->name, ir::declared_type(program, program.type(o->value), o->begins), o->begins});
    } else if (const auto* dim = std::get_if<ir::Dimension>(&n.op)) {
      d.dimensions.push_back(dim->name);
    } else if (const auto* found = std::get_if<ir::Found>(&n.op); found != nullptr && !found->name.empty()) {
      if (std::ranges::find(d.dimensions, found->name) == d.dimensions.end()) d.dimensions.push_back(found->name);
    }
  });
  return d;
}

}  // namespace tdsl::tools
