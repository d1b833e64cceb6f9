#include "runtime/plan/schedules/combined_pieces.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tdsl::plan {

namespace {

class Combination {
 public:
  Combination(const Op& op, const BlockOwners& whole, const std::vector<std::int32_t>& processes,
              const Machine& machine)
      : op_(op), whole_(whole), machine_(machine) {
    const std::size_t parts = processes.size() / whole.owners.size();
    for (auto first = processes.begin(); first != processes.end(); first += static_cast<std::ptrdiff_t>(parts)) {
      std::vector<std::int32_t>& list = with_parts_.emplace_back(first, first + static_cast<std::ptrdiff_t>(parts));
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
      pieces_ = std::max(pieces_, list.size());
      for (const std::int32_t p : list) ranks_ = std::max(ranks_, static_cast<std::size_t>(p) + 1);
    }
    for (const std::int32_t p : whole.owners) ranks_ = std::max(ranks_, static_cast<std::size_t>(p) + 1);
  }

  [[nodiscard]] std::optional<BlockOwners> run() const {
    const std::optional<std::size_t> dimension = longest();
    if (pieces_ < 2 || !dimension || !pieces_are_faster()) return std::nullopt;
    BlockOwners cut{whole_.blocks, {}};
    const auto pieces = static_cast<Index>(pieces_);
    cut.blocks[*dimension] *= pieces;
    Index inner = 1;
    for (std::size_t d = *dimension + 1; d < cut.blocks.size(); ++d) inner *= cut.blocks[d];
    for (Index k = 0; k < static_cast<Index>(whole_.owners.size()) * pieces; ++k) {
      const Index along = k / inner;
      const auto& list = with_parts_[static_cast<std::size_t>(along / pieces * inner + k % inner)];
      cut.owners.push_back(list[static_cast<std::size_t>(along % pieces) % list.size()]);
    }
    return cut;
  }

 private:
  /// The dimension with the longest blocks, if these can be cut into pieces.
  [[nodiscard]] std::optional<std::size_t> longest() const {
    const TensorDesc& result = op_.outputs.front();
    std::optional<std::size_t> best;
    for (std::size_t d = 0; d < whole_.blocks.size() && result.tile.empty(); ++d) {
      const Index blocks = whole_.blocks[d];
      if (result.is_uncut(d) || op_.shape[d] / blocks < static_cast<Index>(pieces_)) continue;
      if (!best || op_.shape[d] / blocks > op_.shape[*best] / whole_.blocks[*best]) best = d;
    }
    return best;
  }

  /// Compares seconds of the busiest ranks. A block in pieces is received once more, by readers at its owner.
  [[nodiscard]] bool pieces_are_faster() const {
    std::vector<double> whole(ranks_, 0), cut(ranks_, 0);
    const double bytes = bytes_of_block(), piece = bytes / static_cast<double>(pieces_);
    const auto seconds = [this](std::size_t messages, double each) {
      return static_cast<double>(messages) * (machine_.latency + each / machine_.bandwidth);
    };
    for (std::size_t b = 0; b < with_parts_.size(); ++b) {
      const std::vector<std::int32_t>& list = with_parts_[b];
      const std::size_t own = std::ranges::binary_search(list, whole_.owners[b]) ? 1 : 0;
      const auto owner = static_cast<std::size_t>(whole_.owners[b]);
      whole[owner] += seconds(list.size() - own, bytes);
      cut[owner] += seconds(pieces_ - own, piece);
      const std::size_t pieces_each = (pieces_ + list.size() - 1) / list.size();
      for (const std::int32_t p : list)
        cut[static_cast<std::size_t>(p)] += seconds(pieces_each * (list.size() - 1), piece);
    }
    return std::ranges::max(cut) < std::ranges::max(whole);
  }
  [[nodiscard]] double bytes_of_block() const {
    double bytes = op_.outputs.front().mean_bytes();
    for (std::size_t d = 0; d < op_.shape.size(); ++d)
      bytes *= static_cast<double>(op_.shape[d]) / static_cast<double>(whole_.blocks[d]);
    return bytes;
  }

  const Op& op_;
  const BlockOwners& whole_;
  const Machine& machine_;
  std::vector<std::vector<std::int32_t>> with_parts_;  ///< per block, the ranks with parts, ascending
  std::size_t pieces_ = 1;                             ///< of every block
  std::size_t ranks_ = 0;
};

}  // namespace

BlockOwners combined_in_pieces(const Op& op, BlockOwners whole, const std::vector<std::int32_t>& processes,
                               const PlanInputs& inputs) {
  if (!inputs.tile.empty() || inputs.reproducible) return whole;
  std::optional<BlockOwners> cut = Combination(op, whole, processes, inputs.machine).run();
  return cut ? std::move(*cut) : std::move(whole);
}

}  // namespace tdsl::plan
