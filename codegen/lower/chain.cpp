#include "codegen/lower/chain.h"

#include <fmt/format.h>

#include "codegen/lower/accesses.h"
#include "codegen/operations/describe.h"

namespace tdsl::codegen {

namespace {

/// Factors may be parts of larger tensors. Adds checks that the tensors are large enough, unless that is known.
void check_factor(ProgramBuilder& builder, const ir::Chain::Factor& factor, const Extent& rows, const Extent& columns,
                  SourceRange range) {
  const std::vector<ir::Label> labels = {{"i", Extent(0), rows}, {"j", Extent(0), columns}};
  const std::vector<Extent> shape = builder.type(factor.tensor).shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const int label = static_cast<int>(factor.transposed ? 1 - d : d);
    const AffineForm form{{{label, Extent(1)}}, Extent(0)};
    check_affine(builder, form, labels, builder.rewritten(shape[d], range),
                 labels[static_cast<std::size_t>(label)].name, range);
  }
}

}  // namespace

void lower_chain(ProgramBuilder& builder, const ir::Node& node, const ir::Chain& chain) {
  ChainStep step;
  step.target = builder.resolve(node.results[0]);
  for (const ir::Chain::Factor& f : chain.factors)
    step.factors.push_back({builder.as_tensor(f.tensor, node.range), f.transposed});
  for (const Extent& e : chain.sizes) step.sizes.push_back(builder.rewritten(e, node.range));
  for (const Extent& e : builder.program().info(step.target).tile)
    step.tile.push_back(builder.rewritten(e, node.range));
  for (std::size_t k = 0; k < step.factors.size(); ++k)
    check_factor(builder, step.factors[k], step.sizes[k], step.sizes[k + 1], node.range);
  step.name = builder.program().info(step.target).name;
  if (step.name.empty()) {
    for (const ir::Chain::Factor& f : step.factors) {
      step.name += (step.name.empty() ? "" : " @ ") + name_of(builder.program(), f.tensor) + (f.transposed ? "'" : "");
    }
    if (step.name.size() > 48) step.name = "temporary";
  }
  step.site = builder.new_site();
  for (std::size_t k = 2; k < step.factors.size(); ++k) static_cast<void>(builder.new_site());
  builder.add(node.range, std::move(step));
}

}  // namespace tdsl::codegen
