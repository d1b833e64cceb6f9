#include "codegen/lower/foreign.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/operations/describe.h"

namespace tdsl::codegen {

namespace {

class ForeignLowering {
 public:
  ForeignLowering(ProgramBuilder& builder, const ir::Node& node, const ir::Routine& routine)
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

  ProgramBuilder& builder_;
  const ir::Node& node_;
  const ir::Routine& routine_;
  LoopStep step_;
};

}  // namespace

void lower_foreign(ProgramBuilder& builder, const ir::Node& node, const ir::Routine& routine) {
  ForeignLowering(builder, node, routine).run();
}

}  // namespace tdsl::codegen
