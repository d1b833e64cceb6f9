#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/plan/region/plan_search.h"

namespace tdsl::tests {

/// Writes regions by hand: `op("C", "ij", {{A, "ik"}, {B, "kj"}})` is C[i, j] = sum[k](A[i, k] * B[k, j]). Extents of
/// the letters are given once.
class RegionWriter {
 public:
  using Index = plan::Index;
  struct Read {
    plan::TensorId tensor;
    std::string labels;
  };

  explicit RegionWriter(std::map<char, Index> extents) : extents_(std::move(extents)) {}

  /// Sets the execution count of subsequent operations. If `site` is given, sites are numbered from it again: the next
  /// pass of a loop.
  void weigh(double weight, int site = 0) {
    weight_ = weight;
    if (site > 0) site_ = site;
  }
  [[nodiscard]] int next_site() const { return site_; }

  plan::TensorId load(const std::string& name, const std::string& labels) {
    return source(plan::OpClass::kLoad, name, labels);
  }
  plan::TensorId constant(const std::string& name, const std::string& labels) {
    return source(plan::OpClass::kSource, name, labels);
  }

  /// Labels of the reads that are missing in the result are summed.
  plan::TensorId op(const std::string& name, const std::string& out, const std::vector<Read>& reads) {
    std::string labels = out;
    for (const Read& read : reads) {
      for (const char c : read.labels) {
        if (labels.find(c) == std::string::npos) labels += c;
      }
    }
    plan::OpBuilder builder(labels.size() > out.size() ? plan::OpClass::kReduce : plan::OpClass::kMap, name, site_++,
                            1);
    for (const char c : out) builder.out(std::string(1, c), extents_.at(c));
    for (std::size_t k = out.size(); k < labels.size(); ++k)
      builder.reduce(std::string(1, labels[k]), extents_.at(labels[k]));
    for (const Read& read : reads) {
      std::vector<plan::DimAccess> dims;
      for (const char c : read.labels) dims.push_back(plan::at(static_cast<int>(labels.find(c))));
      builder.read(read.tensor, std::move(dims));
    }
    builder.combine(labels.size() > out.size() ? plan::Combine::kSum : plan::Combine::kNone).flops(1);
    return enter(builder.op(), name, out);
  }
  /// A single task that reads everything.
  plan::TensorId whole(const std::string& name, const std::string& out, const std::vector<plan::TensorId>& reads) {
    plan::OpBuilder builder(plan::OpClass::kMap, name, site_++, 1);
    for (const char c : out) builder.out(std::string(1, c), extents_.at(c)).uncut();
    for (const plan::TensorId id : reads) builder.read(id, std::vector<plan::DimAccess>(rank_.at(id), plan::whole()));
    builder.flops(1);
    return enter(builder.op(), name, out);
  }

  /// The region; `alive` tensors are used after it.
  [[nodiscard]] plan::Region finish(const std::vector<plan::TensorId>& alive = {}) {
    std::map<plan::TensorId, std::size_t> last;
    for (std::size_t k = 0; k < region_.ops.size(); ++k) {
      for (const plan::TensorDesc& output : region_.ops[k].op.outputs) last[output.id] = k;
      for (const plan::Access& access : region_.ops[k].op.reads) last[access.tensor] = k;
    }
    for (const auto& [id, k] : last) {
      if (std::find(alive.begin(), alive.end(), id) == alive.end()) region_.ops[k].last_uses.push_back(id);
    }
    return region_;
  }

 private:
  plan::TensorId source(plan::OpClass op_class, const std::string& name, const std::string& labels) {
    plan::OpBuilder builder(op_class, name, site_++, 1);
    for (const char c : labels) builder.out(std::string(1, c), extents_.at(c));
    builder.flops(0);
    return enter(builder.op(), name, labels);
  }
  plan::TensorId enter(plan::Op& op, const std::string& name, const std::string& labels) {
    const auto id = static_cast<plan::TensorId>(region_.ops.size());
    op.outputs = {{id, {8, "f64"}, op.shape, name}};
    rank_[id] = labels.size();
    region_.ops.push_back({op, weight_, 0, {}});
    return id;
  }

  std::map<char, Index> extents_;
  std::map<plan::TensorId, std::size_t> rank_;
  plan::Region region_;
  double weight_ = 1;
  int site_ = 1;
};

/// Constants that make predicted seconds equal to bytes received.
[[nodiscard]] inline plan::PlanInputs bytes_only(plan::Index ranks, double shares) {
  plan::PlanInputs inputs;
  inputs.ranks = ranks;
  plan::Machine& machine = inputs.machine;
  machine.latency = machine.task_overhead = machine.exchange_overhead = 1e-12;
  machine.bandwidth = 1;
  machine.flop_rate = machine.stream_rate = 1e300;
  inputs.share_cap = shares;
  inputs.least_slack = 0;
  return inputs;
}

}  // namespace tdsl::tests
