#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/plan/region/choices.h"
#include "runtime/plan/region/cost_tables.h"
#include "runtime/plan/search/limits.h"
#include "runtime/plan/search/linearise.h"
#include "runtime/plan/value/plan_value.h"

// A region as a network of costs. Variables are the layouts of results ("places") and, where a reduction may be split,
// of the work that computes them. Costs are predicted seconds of the busiest rank, times the operation's weight:
//
//     work               computing
//     place -- work      receiving an operand; two accesses to one tensor count as their union
//     place              making a kept copy, from which readers fetch elements they lack there
//     work -- place      partial results: the owner of a box pulls all parts but its own
//
// The operands of an epilogue are read where the result is computed: by the work, or where partial results are
// combined.
//
// Received elements are |needed| - |needed and owned|, computed from boxes per rank (cost/shares.h).

namespace tdsl::plan {

class RegionNetwork {
 public:
  /// `tables`: shared with other networks for the same inputs; may be null.
  RegionNetwork(const Region& region, const PlanInputs& inputs, Mesh mesh, const ChoiceLimits& limits = {},
                CostTables* tables = nullptr);

  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const std::vector<Arc>& arcs() const { return arcs_; }
  /// Bytes held at every operation: live results and its own partial results. The cap is left 0.
  [[nodiscard]] const MemoryLimits& memory() const { return memory_; }
  [[nodiscard]] const Choices& choices() const { return choices_; }
  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  /// The variable of a site's results, and of its work (the same unless a reduction is split).
  [[nodiscard]] int place_variable(const SiteChoices& site) const { return site.place; }
  [[nodiscard]] int work_variable(std::size_t site) const { return work_variable_[site]; }
  /// The assignment as a plan.
  [[nodiscard]] PlanValue plan_of(const Assignment& x) const;

 private:
  struct Producer {
    std::size_t site = 0;
    const TensorDesc* desc = nullptr;
  };
  /// Layouts of the site's work, by value of its work variable.
  [[nodiscard]] std::vector<Layout> works(std::size_t site) const;
  void choose_ranks();
  void add_variables();
  [[nodiscard]] bool costs_alike(const Op& a, const Op& b) const;
  [[nodiscard]] std::vector<double> merged_weights() const;
  void add_operation(std::size_t k, double weight);
  /// An operation at its site, and the boxes of its work, computed on demand.
  struct Worked {
    const Op& op;
    std::size_t site;
    std::string name;  ///< key of its tables: the operation and its work layouts
    std::vector<Layout> layouts{};
    std::vector<counting::Boxes> boxes{};
  };
  [[nodiscard]] Worked worked(const Op& op, std::size_t site) const;
  void find_boxes(Worked& work) const;
  void add(int variable, double weight, const CostTables::Table& table);
  void add_reads(Worked& work, double weight);
  /// Adds the cost for `reader` to receive these operands.
  void add_reads(Worked& work, std::span<const Access> reads, int reader, double weight);
  /// The combination of the operation's partial results: works are the layouts of the result.
  [[nodiscard]] Worked met(const Op& op, std::size_t site) const;
  void find_needs(Worked& work, const std::vector<Index>& shape, const std::vector<const Access*>& accesses,
                  ReadingCosts& costs) const;
  [[nodiscard]] CostTables::Table reading_table(Worked& work, const Producer& from,
                                                const std::vector<const Access*>& accesses, ReadingCosts& costs);
  void add_results(Worked& work, double weight);
  [[nodiscard]] CostTables::Table meeting_table(Worked& work);
  void add_memory();
  [[nodiscard]] std::vector<counting::Boxes> work_boxes(const Op& op, const std::vector<Layout>& layouts) const;
  /// The ranks' boxes of a tensor, an output of the operation: one entry per distinct layout among its places.
  struct PlacedBoxes {
    std::vector<const Layout*> layouts;
    std::vector<counting::Boxes> boxes;
    std::vector<Index> numbers;     ///< of the layouts, shared by all networks with the same tables
    std::vector<std::size_t> own;   ///< per place, an index into `boxes`
    std::vector<std::size_t> copy;  ///< per place, an index into `boxes`; boxes.size(): no copy
    [[nodiscard]] bool has_copy(std::size_t place) const { return copy[place] < boxes.size(); }
  };
  [[nodiscard]] PlacedBoxes place_boxes(const Op& op, const TensorDesc& tensor, const std::vector<Place>& places) const;
  /// The same, computed once for equal choices and shapes.
  [[nodiscard]] const PlacedBoxes& placed_boxes(const SiteChoices& site, const TensorDesc& tensor);
  void add_copies(const Worked& work, double weight);
  [[nodiscard]] std::vector<int> readers_of_copy(std::size_t site, const Assignment& x) const;

  const Region& region_;
  const PlanInputs& inputs_;
  Mesh mesh_;
  std::vector<Index> ranks_;  ///< the sampled ranks
  Choices choices_;
  std::vector<int> work_variable_;  ///< per site
  Network network_;
  std::vector<Arc> arcs_;
  MemoryLimits memory_;
  std::unordered_map<TensorId, Producer> producer_;
  std::unordered_map<int, std::size_t> site_number_;
  CostTables own_tables_;
  CostTables& tables_;
  std::vector<Index> place_list_,
      work_list_;  ///< ids of the lists of choices, per entry of Choices::places and per site
  std::unordered_map<std::string, PlacedBoxes> placed_;  ///< used while building the network
};

/// Sampled ranks of a mesh, in order: all if few, else its corners and a rank in its middle, or `whole_nodes` of them.
[[nodiscard]] std::vector<Index> mesh_sample(const Mesh& mesh, bool whole_nodes);

}  // namespace tdsl::plan
