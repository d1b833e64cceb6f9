#include "tools/tdslc/explain/paper_costs_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/relations/relations.h"
#include "ir/algebra/rules/paper_cost.h"
#include "runtime/check.h"
#include "runtime/plan/schedules/paper_costs.h"

namespace tdsl::tools {

namespace {

/// Counts of elements, exact up to six digits.
std::string elements(double count) { return fmt::format("{:.6g}", count); }

class PaperCosts {
 public:
  PaperCosts(const plan::Region& region, const plan::PlanInputs& inputs, const plan::Alternative& chosen,
             const std::map<int, double>& received)
      : region_(region),
        inputs_(inputs),
        chosen_(chosen),
        received_(received),
        costs_(region, inputs, inputs.ranks),
        choice_(costs_.cheapest()) {
    if (chosen.plan != nullptr) names_ = plan::product_names(region, costs_, *chosen.plan);
    while ((side_ + 1) * (side_ + 1) <= inputs.ranks) ++side_;
  }

  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("costs of the papers' models, in elements, on {} ranks\n", inputs_.ranks);
    for (std::size_t v = 0; v < costs_.sites().size(); ++v) text += text_of_site(v);
    return text +
           fmt::format("EinDecomp: {} in total, {}\n", elements(choice_.cost),
                       choice_.exact ? "the least (a tree)" : "by linearization") +
           tra_total();
  }

 private:
  [[nodiscard]] std::string text_of_site(std::size_t v) const {
    const plan::EinsumSite& site = costs_.sites()[v];
    const plan::Op& op = region_.ops[site.op].op;
    std::string text = fmt::format("{:>5}  {:<20} ", rt::line_in(op.line), op.name.substr(0, 20));
    const std::optional<plan::ProductSizes> product = plan::product_sizes(site.einsum, site.einsum.extents);
    text += product ? product_line(site, op, *product) : fmt::format("received {}\n", elements(received_by(site, op)));
    text += fmt::format("         EinDecomp {}", vector_text(site, op, choice_.parts[v]));
    if (const plan::PartitionVector mine = parts_of_plan(site, op); !mine.empty())
      text += fmt::format("; this plan {}", vector_text(site, op, mine));
    text += fmt::format("; sqrt {}\n", vector_text(site, op, plan::EinsumCosts::square(site, side_)));
    if (!product) return text;
    const plan::TraCosts tra = plan::tra_costs(*product, inputs_.ranks);
    const plan::Index workers = std::max<plan::Index>(inputs_.ranks_per_node, 1);
    return text + fmt::format("         TRA broadcast {}, cross-product {}, replication {}; NumS at least {}\n",
                              elements(tra.broadcast), elements(tra.cross_product), elements(tra.replication),
                              elements(plan::nums_bound(*product, inputs_.ranks / workers, workers)));
  }

  /// The cost of the plan as relations; moves of operators outside the algebra do not count.
  [[nodiscard]] std::string tra_total() const {
    if (chosen_.plan == nullptr || chosen_.plan->mesh.axes.empty()) return {};
    const codegen::Relations made = codegen::relations_of(region_, {}, {chosen_.plan.get()});
    const auto opaque =
        std::ranges::count_if(made.steps, [](const codegen::RelationStep& step) { return !step.opaque.empty(); });
    return fmt::format("TRA: {} in total for this plan{}\n", ir::algebra::paper_cost(made.program.roots(), made.mesh),
                       opaque == 0 ? "" : fmt::format(", without {} operators outside the algebra", opaque));
  }

  /// `SUMMA, received 3.2e+07, at least 2.4e+07 (1.33)`
  [[nodiscard]] std::string product_line(const plan::EinsumSite& site, const plan::Op& op,
                                         const plan::ProductSizes& product) const {
    const auto name = names_.find(site.site);
    const double received = received_by(site, op);
    const double memory = chosen_.price.peak_bytes / static_cast<double>(op.outputs.front().element.bytes);
    const double least = plan::received_bound(product, inputs_.ranks, memory);
    const std::string ratio = least > 0 ? fmt::format(" ({:.2f})", received / least) : "";
    return fmt::format("{}, received {}, lower bound {}{}\n", name == names_.end() ? "planned by itself" : name->second,
                       elements(received), elements(least), ratio);
  }

  /// `i:2 j:2 k:1: join 1.28e+08, aggregation 0`
  [[nodiscard]] static std::string vector_text(const plan::EinsumSite& site, const plan::Op& op,
                                               const plan::PartitionVector& parts) {
    return fmt::format("{}: join {}, aggregation {}", plan::text_of(parts, plan::slot_names(op)),
                       elements(site.einsum.join_cost(parts)), elements(site.einsum.aggregation_cost(parts)));
  }

  [[nodiscard]] plan::PartitionVector parts_of_plan(const plan::EinsumSite& site, const plan::Op& op) const {
    if (chosen_.plan == nullptr) return {};
    const auto decided = chosen_.plan->at.find(site.site);
    return decided == chosen_.plan->at.end() ? plan::PartitionVector{}
                                             : plan::parts_of(op, decided->second, chosen_.plan->mesh);
  }

  [[nodiscard]] double received_by(const plan::EinsumSite& site, const plan::Op& op) const {
    const auto bytes = received_.find(site.site);
    return bytes == received_.end() ? 0 : bytes->second / static_cast<double>(op.outputs.front().element.bytes);
  }

  const plan::Region& region_;
  const plan::PlanInputs& inputs_;
  const plan::Alternative& chosen_;
  const std::map<int, double>& received_;
  plan::EinsumCosts costs_;
  plan::PartsChoice choice_;
  std::map<int, std::string> names_;
  plan::Index side_ = 1;
};

}  // namespace

std::string paper_costs_text(const plan::Region& region, const plan::PlanInputs& inputs,
                             const plan::Alternative& chosen, const std::map<int, double>& received) {
  return PaperCosts(region, inputs, chosen, received).text();
}

}  // namespace tdsl::tools
