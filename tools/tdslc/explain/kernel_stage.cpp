#include "tools/tdslc/explain/plan_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "codegen/operations/describe.h"
#include "codegen/walk/host_evaluator.h"
#include "ir/graph/check.h"
#include "runtime/check.h"
#include "runtime/record/start.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

/// An emitted operation, identified by its first record.
struct KernelRow {
  codegen::OperationStep step;
  std::vector<double> read_bytes;    ///< by operand
  std::vector<double> member_bytes;  ///< for a nest: bytes of each operator's value if it were stored
  double written_bytes = 0;
  int line = 0;
  double flops = 0;
  double product_share = 0;
  double times = 0;
};
using KernelRows = std::map<int, KernelRow>;

class KernelObserver : public codegen::OperationObserver {
 public:
  KernelObserver(const codegen::OperationProgram& program, KernelRows& rows) : program_(program), rows_(rows) {}

  void emitted(plan::TensorId, const codegen::OperationStep& step, const codegen::HostEvaluator& host) override {
    const auto [entry, first] = rows_.try_emplace(step.op->site);
    if (!first) return;
    KernelRow& row = entry->second;
    row.step = step;
    row.written_bytes = bytes(program_.type(step.target), host);
    for (const codegen::SymbolicAccess& read : step.op->reads) row.read_bytes.push_back(touched(read, *step.op, host));
    if (!step.fused) return;
    for (const auto& member : step.fused->members) row.member_bytes.push_back(bytes(member, host));
  }
  void product(plan::TensorId, const plan::Op&, ir::Scalar) override {}

 private:
  [[nodiscard]] static double number(const ir::Extent& e, const codegen::HostEvaluator& host) {
    return static_cast<double>(host.evaluate(e).value_or(0));
  }
  [[nodiscard]] static double bytes(const ir::Type& type, const codegen::HostEvaluator& host) {
    double all = static_cast<double>(ir::size_of(type.scalar));
    for (const ir::Extent& e : type.shape) all *= number(e, host);
    return all;
  }
  [[nodiscard]] static double bytes(const codegen::FusedKernel::Member& member, const codegen::HostEvaluator& host) {
    double all = static_cast<double>(ir::size_of(member.type));
    for (const ir::Label& l : member.compute.out) all *= number(l.end - l.begin, host);
    return all;
  }
  /// Elements read by the operation, summed over tasks.
  [[nodiscard]] double touched(const codegen::SymbolicAccess& read, const codegen::RecordedOp& op,
                               const codegen::HostEvaluator& host) const {
    const ir::Type& type = program_.type(read.tensor);
    double all = static_cast<double>(ir::size_of(type.scalar));
    for (std::size_t d = 0; d < read.dims.size(); ++d) {
      const codegen::SymbolicDim& dim = read.dims[d];
      const double extent = number(type.shape[d], host);
      double hull = number(dim.offset.hi - dim.offset.lo, host);
      for (const codegen::Term& t : dim.terms) {
        const plan::NumberTypes<ir::Extent>::Interval& range = op.labels[static_cast<std::size_t>(t.label)].range;
        hull += std::abs(number(t.coefficient, host)) * std::max(0.0, number(range.hi - range.lo, host) - 1);
      }
      all *= dim.whole ? extent : std::min(extent, hull);
    }
    return all;
  }

  const codegen::OperationProgram& program_;
  KernelRows& rows_;
};

void find_forms(const codegen::Steps& steps, std::map<int, std::pair<int, const codegen::ChooseStep*>>& forms) {
  for (const codegen::Step& step : steps) {
    if (const auto* f = std::get_if<codegen::ForStep>(&step.op)) find_forms(f->body, forms);
    if (const auto* w = std::get_if<codegen::WhileStep>(&step.op)) {
      find_forms(w->condition, forms);
      find_forms(w->body, forms);
    }
    if (const auto* i = std::get_if<codegen::IfStep>(&step.op)) {
      find_forms(i->then_steps, forms);
      find_forms(i->else_steps, forms);
    }
    const auto* c = std::get_if<codegen::ChooseStep>(&step.op);
    if (c == nullptr) continue;
    forms[c->site] = {static_cast<int>(step.range.line), c};
    for (const codegen::Steps& form : c->forms) find_forms(form, forms);
  }
}

/// Operand `k` as in the source, `A[i, j]`: its first read in order of evaluation.
std::string operand_text(const codegen::OperationProgram& program, const codegen::OperationStep& step, std::size_t k) {
  const std::size_t own = step.op->own_reads().size();
  if (k >= own) return operand_text(program, *step.epilogue, k - own + 1);
  std::vector<const ir::Compute*> computes = {&step.kernel->compute};
  if (step.fused) computes.clear();
  for (std::size_t m = 0; step.fused && m < step.fused->members.size(); ++m)
    computes.push_back(&step.fused->members[m].compute);
  const auto& operands = step.fused ? step.fused->operand : step.kernel->operand;
  std::string text;
  for (const ir::Compute* compute : computes) {
    std::vector<std::string> labels;
    for (const auto* list : {&compute->out, &compute->reduce}) {
      for (const ir::Label& l : *list) labels.push_back(l.name);
    }
    const std::function<void(const ir::Expr&)> visit = [&](const ir::Expr& e) {
      if (!e) return;
      std::ranges::for_each(ir::children(*e), visit);
      const auto operand = operands.find(e.id());
      if (text.empty() && operand != operands.end() && operand->second == static_cast<int>(k))
        text = codegen::describe(program, e, labels);
    };
    visit(compute->guard);
    std::ranges::for_each(compute->bodies, visit);
    std::ranges::for_each(compute->left, visit);
  }
  return text.empty() ? codegen::name_of(program, step.op->reads[k].tensor) : text;
}

std::string row_text(const codegen::OperationProgram& program, const KernelRow& row) {
  const bool nest = row.step.fused != nullptr;
  std::string text = fmt::format("line {:<5} {}: {}{}\n", row.line, row.step.op->name,
                                 nest ? fmt::format("nest over rows, {} operators", row.step.fused->members.size())
                                      : codegen::describe(program, row.step.kernel->compute),
                                 row.times == 1 ? "" : fmt::format(", {:g} times", row.times));
  double read = 0;
  std::string operands;
  for (std::size_t k = 0; k < row.step.op->reads.size(); ++k) {
    const codegen::SymbolicAccess& a = row.step.op->reads[k];
    const bool whole =
        nest && std::ranges::none_of(a.dims, [](const codegen::SymbolicDim& d) { return !d.terms.empty(); });
    operands += fmt::format("{}{} {}{}", k == 0 ? "" : "; ", operand_text(program, row.step, k),
                            human_bytes(row.read_bytes[k]), whole ? " whole" : "");
    read += row.read_bytes[k];
  }
  text += fmt::format("           reads     {}\n", operands.empty() ? "nothing" : operands);
  text += fmt::format("           writes    {}\n", human_bytes(row.written_bytes));
  text += fmt::format(
      "           computes  {}flops, {:.3g} per byte{}\n", human_count(row.flops) + " ",
      row.flops / std::max(1.0, read + row.written_bytes),
      row.product_share > 0 ? fmt::format("; {:.0f} % of them products of matrices", 100 * row.product_share) : "");
  if (row.step.epilogue) {
    text += fmt::format("           then      {}; the product's {} are never stored\n",
                        codegen::describe(program, row.step.epilogue->kernel->compute), human_bytes(row.written_bytes));
  }
  for (std::size_t m = 0; nest && m < row.step.fused->members.size(); ++m) {
    const auto& member = row.step.fused->members[m];
    const bool result = m + 1 == row.step.fused->members.size() || member.place.has_value();
    text += fmt::format("           line {:<5} {}{}\n", member.range.line, codegen::describe(program, member.compute),
                        result ? ""
                        : member.is_element()
                            ? ": at stored elements, never stored"
                            : fmt::format(": {} that are never stored", human_bytes(row.member_bytes[m])));
  }
  return text;
}

/// Counts the bytes of compressed tensors as stored; `stored`: expected bytes over those of all elements.
void store_parts(KernelRow& row, const plan::Op& op, const std::map<plan::TensorId, double>& stored) {
  const auto part = [&](plan::TensorId tensor) {
    const auto found = stored.find(tensor);
    return found == stored.end() ? 1.0 : found->second;
  };
  if (!op.outputs.empty()) row.written_bytes *= part(op.outputs.front().id);
  for (std::size_t k = 0; k < std::min(op.reads.size(), row.read_bytes.size()); ++k)
    row.read_bytes[k] *= part(op.reads[k].tensor);
}

std::string forms_text(const codegen::OperationProgram& operations, const record::Start& start) {
  std::map<int, std::pair<int, const codegen::ChooseStep*>> forms;
  find_forms(operations.steps, forms);
  std::string text;
  for (const auto& [site, form] : start.saved.forms) {
    const auto found = forms.find(site);
    if (found == forms.end()) continue;
    const auto& [line, step] = found->second;
    text += fmt::format("line {:<5} runs {}\n", line, step->names[static_cast<std::size_t>(form)]);
    for (const record::FormPrice& price : start.prices) {
      if (price.site != site) continue;
      text += fmt::format("           {:<34} the program in {:.3g} s{}{}\n",
                          step->names[static_cast<std::size_t>(price.form)] + ":", price.seconds,
                          price.fits ? "" : ", too much memory", price.form == form ? "" : ", so it lost");
    }
  }
  return text.empty() ? "" : "forms of equal results, and the prediction for each\n" + text;
}

}  // namespace

std::string kernels_text(const codegen::OperationProgram& operations, const ReportRequest& request) {
  const record::Start start =
      record::start_of(codegen::recording_of(operations, request.walk), request.inputs, request.plan);
  KernelRows rows;
  KernelObserver observer(operations, rows);
  const plan::Region region =
      record::survey(codegen::recording_of(operations, request.walk, &observer), {start.saved.forms});
  std::map<plan::TensorId, double> stored;
  for (const plan::RegionOp& r : region.ops) {
    for (const plan::TensorDesc& output : r.op.outputs)
      stored.emplace(output.id, output.mean_bytes() / static_cast<double>(output.element.bytes));
    const auto row = rows.find(r.op.site);
    if (row == rows.end()) continue;
    if (row->second.times == 0) {
      row->second.line = rt::line_in(r.op.line);
      row->second.flops = plan::flops_of(r.op);
      row->second.product_share = r.op.product_share;
      store_parts(row->second, r.op, stored);
    }
    row->second.times += r.weight;
  }
  std::string text = fmt::format("{} on {} ranks: {} kernels\n", operations.name, request.inputs.ranks, rows.size());
  for (const auto& [site, row] : rows) text += row_text(operations, row);
  if (!region.whole) text += fmt::format("this is not the whole program: {}\n", region.fence);
  return text + forms_text(operations, start);
}

}  // namespace tdsl::tools
