#include "runtime/plan/workflow/block_grid.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "runtime/plan/region/choices.h"
#include "runtime/plan/space/canonical.h"
#include "runtime/plan/space/tiles.h"

namespace tdsl::plan {

namespace {

std::vector<double> softmax(const std::vector<Index>& cluster) {
  const Index most = cluster.empty() ? 0 : *std::max_element(cluster.begin(), cluster.end());
  std::vector<double> weights;
  double sum = 0;
  for (const Index size : cluster) {
    weights.push_back(std::exp(static_cast<double>(size - most)));
    sum += weights.back();
  }
  for (double& w : weights) w /= sum;
  return weights;
}

double whole_if_near(double x) { return std::abs(x - std::round(x)) < 1e-9 ? std::round(x) : x; }

/// The known cuts of the region's tensors.
using KnownCuts = std::unordered_map<TensorId, std::vector<Tiling>>;

/// A dimension indexed by the label alone.
bool follows(const DimAccess& dim, int label) {
  return !dim.whole && dim.divisor == 1 && dim.terms.size() == 1 && dim.terms[0].label == label &&
         dim.terms[0].coefficient == 1;
}

/// The most blocks along a label in any operand; 0: no operand determines it.
Index blocks_of_operands(const Op& op, int label, const KnownCuts& known) {
  Index most = 0;
  for (const Access& access : op.reads) {
    const auto found = known.find(access.tensor);
    if (found == known.end()) continue;
    for (std::size_t d = 0; d < access.dims.size(); ++d) {
      if (follows(access.dims[d], label)) most = std::max(most, found->second[d].tiles());
    }
  }
  return most;
}

/// The prescribed tiles, if any: by annotation, `--tile` or `--reproducible`.
std::vector<std::optional<Tiling>> given_tiles(const Op& op, const PlanInputs& inputs) {
  std::vector<std::optional<Tiling>> given = task_space(op, inputs).tilings;
  if (!inputs.reproducible) return given;
  const bool by_stored = op.outputs.size() == 1 && op.outputs.front().sized();
  const std::vector<Tiling> canonical =
      canonical_tiles(by_stored ? cut_extents(op.outputs.front()) : op.shape, op.tile, inputs.tile, op.shape);
  for (std::size_t d = 0; d < op.shape.size(); ++d) given[d] = canonical[d];
  return given;
}

BlockCut cut_of(const Op& op, const PlanInputs& inputs, const GridSettings& settings, const KnownCuts& known) {
  const std::vector<std::optional<Tiling>> given = given_tiles(op, inputs);
  const Index bytes = op.outputs.empty() ? 8 : op.outputs.front().element.bytes;
  const std::vector<Index> grid =
      automatic_grid({op.shape, bytes, settings.cluster, settings.cores, settings.least_bytes});
  const auto base = known.find(op.base);
  BlockCut cut;
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const int label = op.out[d].label;
    const Index meant = label >= 0 ? blocks_of_operands(op, label, known) : 0;
    if (base != known.end()) {
      cut.out.push_back(base->second[d]);
    } else if (op.is_uncut(d)) {
      cut.out.push_back(Tiling::near_equal(op.shape[d], 1));
    } else if (given[d]) {
      cut.out.push_back(*given[d]);
    } else {
      cut.out.push_back(Tiling::near_equal(op.shape[d], meant > 0 ? meant : grid[d]));
    }
  }
  for (std::size_t k = 0; k < op.reduce.size(); ++k) {
    const Index extent = op.labels[idx(op.reduce[k].label)].range.size();
    const std::optional<Tiling>& tiling = given[op.shape.size() + k];
    cut.reduce.push_back(
        tiling ? *tiling
               : Tiling::near_equal(extent, std::max<Index>(blocks_of_operands(op, op.reduce[k].label, known), 1)));
  }
  return cut;
}

}  // namespace

std::vector<Index> automatic_grid(const GridRequest& request) {
  const std::size_t rank = request.shape.size();
  double bytes = static_cast<double>(request.element_bytes), longest = 0;
  for (const Index extent : request.shape) {
    bytes *= static_cast<double>(extent);
    longest = std::max(longest, static_cast<double>(extent));
  }
  std::vector<Index> grid(rank, 1);
  if (rank == 0 || bytes < request.least_bytes || bytes == 0) return grid;
  std::vector<Index> cluster = request.cluster;
  cluster.resize(rank, 1);
  std::vector<double> weights = softmax(cluster);
  double sum = 0, lost = 0;
  for (std::size_t d = 0; d < rank; ++d) sum += weights[d] *= static_cast<double>(request.shape[d]);
  std::vector<double> blocks(rank);
  std::size_t first_longest = rank;
  for (std::size_t d = 0; d < rank; ++d) {
    const double factor = whole_if_near(std::pow(static_cast<double>(request.cores), weights[d] / sum));
    blocks[d] = std::floor(factor);
    lost += factor - blocks[d];
    if (first_longest == rank && static_cast<double>(request.shape[d]) == longest) first_longest = d;
  }
  blocks[first_longest] += lost;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto wanted = static_cast<Index>(std::ceil(whole_if_near(blocks[d])));
    const Index edge = ceil_div(request.shape[d], std::max<Index>(wanted, 1));
    grid[d] = ceil_div(request.shape[d], edge);
  }
  return grid;
}

std::vector<BlockCut> block_cuts(const Region& region, const PlanInputs& inputs, const GridSettings& settings) {
  std::vector<BlockCut> cuts;
  KnownCuts known;
  int run = 0;
  for (const RegionOp& recorded : region.ops) {
    if (recorded.run != run) known.clear();
    run = recorded.run;
    const Op& op = recorded.op;
    cuts.push_back(cut_of(op, inputs, settings, known));
    for (const TensorDesc& output : op.outputs) {
      std::vector<Tiling>& tilings = known[output.id];
      tilings = cuts.back().out;
      if (op.op_class != OpClass::kLoop) continue;
      tilings.clear();  // results with their own shapes, each a single block
      for (const Index extent : output.shape) tilings.push_back(Tiling::near_equal(extent, 1));
    }
  }
  return cuts;
}

}  // namespace tdsl::plan
