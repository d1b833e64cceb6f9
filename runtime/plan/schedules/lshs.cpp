#include "runtime/plan/schedules/lshs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/check.h"
#include "runtime/plan/schedules/placed_tasks.h"
#include "runtime/plan/schedules/schedule.h"

namespace tdsl::plan {

namespace {

/// Cost of messages within a node relative to those between nodes.
constexpr double kWithinNode = 0.1;
constexpr std::uint64_t kSeed = 1;

/// Tasks' results, and intermediate sums of Reduces.
using Object = std::size_t;

/// Simulated memory, inbound and outbound load of the ranks.
class Cluster {
 public:
  Cluster(const NodeGrid& grid, std::size_t objects) : workers_(grid.workers), holders_(objects), bytes_(objects, 0) {
    const auto p = static_cast<std::size_t>(grid.ranks());
    loads_ = {std::vector<double>(p, 0), std::vector<double>(p, 0), std::vector<double>(p, 0)};
    has_.resize(p);
  }

  [[nodiscard]] const ClusterLoads& loads() const { return loads_; }
  [[nodiscard]] std::int32_t maker(Object object) const { return holders_[object].front(); }
  [[nodiscard]] Index node_of(std::int32_t rank) const { return rank / workers_; }
  Object new_object() {
    holders_.emplace_back();
    bytes_.push_back(0);
    return holders_.size() - 1;
  }

  void make(Object object, double bytes, std::int32_t rank) {
    holders_[object] = {rank};
    bytes_[object] = bytes;
    const auto all = static_cast<std::int32_t>(loads_.memory.size());
    for (std::int32_t r = rank == kEverybody ? 0 : rank; r < (rank == kEverybody ? all : rank + 1); ++r)
      raise(loads_.memory, most_memory_, r, bytes);
  }

  /// The ranks that hold at least one of the operands, ascending.
  [[nodiscard]] std::vector<std::int32_t> ranks_with_one(const std::vector<Object>& operands) {
    std::vector<std::int32_t> ranks;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      for (const std::int32_t rank : holders_[operands[k]]) {
        if (rank == kEverybody) continue;
        has_[index(rank)].push_back(k);
        ranks.push_back(rank);
      }
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }
  /// Resets the results of ranks_with_one.
  void forget(const std::vector<std::int32_t>& ranks) {
    for (const std::int32_t rank : ranks) has_[index(rank)].clear();
  }

  /// The objective if the operands, some of which the rank holds, were sent to it and a result of `bytes` created
  /// there.
  [[nodiscard]] double after(const std::vector<Object>& operands, double bytes, std::int32_t rank) {
    double arriving = 0, received = 0, most_out = most_out_;
    sent_.clear();
    const std::vector<std::size_t>& has = has_[index(rank)];  // ascending
    auto mine = has.begin();
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Object object = operands[k];
      if (mine != has.end() && *mine == k) {
        ++mine;
        continue;
      }
      if (maker(object) == kEverybody) continue;
      const double counted = bytes_[object] * (node_of(maker(object)) == node_of(rank) ? kWithinNode : 1);
      arriving += bytes_[object];
      received += counted;
      const auto known = std::ranges::find_if(sent_, [&](const auto& s) { return s.first == maker(object); });
      double& sent = known == sent_.end() ? sent_.emplace_back(maker(object), 0).second : known->second;
      sent += counted;
      most_out = std::max(most_out, loads_.out[index(maker(object))] + sent);
    }
    return std::max(most_memory_, loads_.memory[index(rank)] + arriving + bytes) +
           std::max(most_in_, loads_.in[index(rank)] + received) + most_out;
  }

  void run(const std::vector<Object>& operands, Object result, double bytes, std::int32_t rank) {
    for (const Object object : operands) {
      if (is_at(object, rank)) continue;
      const double counted = bytes_[object] * (node_of(maker(object)) == node_of(rank) ? kWithinNode : 1);
      raise(loads_.memory, most_memory_, rank, bytes_[object]);
      raise(loads_.in, most_in_, rank, counted);
      raise(loads_.out, most_out_, maker(object), counted);
      holders_[object].push_back(rank);
    }
    make(result, bytes, rank);
  }

 private:
  [[nodiscard]] static std::size_t index(std::int32_t rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] bool is_at(Object object, std::int32_t rank) const {
    const std::vector<std::int32_t>& ranks = holders_[object];
    return ranks.front() == kEverybody || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  }
  static void raise(std::vector<double>& load, double& most, std::int32_t rank, double bytes) {
    most = std::max(most, load[index(rank)] += bytes);
  }

  Index workers_;
  std::vector<std::vector<std::int32_t>> holders_;  ///< the creator of an object comes first
  std::vector<double> bytes_;
  ClusterLoads loads_;
  double most_memory_ = 0, most_in_ = 0, most_out_ = 0;
  std::vector<std::pair<std::int32_t, double>> sent_;
  std::vector<std::vector<std::size_t>> has_;  ///< per rank, its operands of the current task
};

/// The remaining summands of a Reduce, by the rank that made them.
class Summands {
 public:
  void add(Object object, std::int32_t maker) {
    std::vector<Object>& mine = of_[maker].objects;
    mine.push_back(object);
    ++count_;
    if (left(maker) == 2) crowded_.insert(maker);
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Object first() const { return of_.begin()->second.objects[of_.begin()->second.taken]; }

  /// Removes the next two summands: of the first rank with two, else of the first node with two, else the first two, in
  /// rank order; those of one rank in the order of their addition.
  std::vector<Object> take_two(const Cluster& cluster) {
    if (!crowded_.empty()) {
      const std::int32_t maker = *crowded_.begin();
      const Object one = take(maker);
      return {one, take(maker)};
    }
    const auto pair = std::ranges::adjacent_find(
        of_, [&](const auto& a, const auto& b) { return cluster.node_of(a.first) == cluster.node_of(b.first); });
    const auto first = pair == of_.end() ? of_.begin() : pair;
    const std::int32_t one = first->first, other = std::next(first)->first;
    const Object taken = take(one);
    return {taken, take(other)};
  }

 private:
  struct OfRank {
    std::vector<Object> objects;
    std::size_t taken = 0;  ///< of the first objects
  };
  [[nodiscard]] std::size_t left(std::int32_t maker) const {
    const OfRank& mine = of_.at(maker);
    return mine.objects.size() - mine.taken;
  }
  Object take(std::int32_t maker) {
    const auto found = of_.find(maker);
    const Object object = found->second.objects[found->second.taken++];
    --count_;
    const std::size_t rest = left(maker);
    if (rest < 2) crowded_.erase(maker);
    if (rest == 0) of_.erase(found);
    return object;
  }

  std::map<std::int32_t, OfRank> of_;
  std::set<std::int32_t> crowded_;  ///< ranks with two or more
  std::size_t count_ = 0;
};

class Lshs {
 public:
  Lshs(const Region& region, const NodeGrid& grid, Workflow& workflow)
      : region_(region),
        grid_(grid),
        workflow_(workflow),
        cluster_(grid, workflow.tasks.size()),
        pinned_(workflow.tasks.size(), kNobody) {}

  LshsLoads run() {
    pin_results();
    create();
    LshsLoads loads{cluster_.loads(), {}};
    while (!frontier_.empty()) {
      const std::size_t at = static_cast<std::size_t>(random() % frontier_.size());
      if (!step(frontier_[at])) continue;
      const TaskNumber done = frontier_[at];
      frontier_[at] = frontier_.back();
      frontier_.pop_back();
      finish(done);
    }
    for (WorkflowTask& task : workflow_.tasks) {
      if (task.kind == TaskKind::kApply) set_pairs(task);
    }
    loads.scheduled = cluster_.loads();
    return loads;
  }

 private:
  /// splitmix64
  std::uint64_t random() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  void pin_results() {
    std::unordered_set<TensorId> ended, shown;
    for (const RegionOp& recorded : region_.ops) {
      ended.insert(recorded.last_uses.begin(), recorded.last_uses.end());
      const bool effect = recorded.op.op_class == OpClass::kStore || recorded.op.op_class == OpClass::kCollect;
      for (const Access& access : recorded.op.reads) {
        if (effect) shown.insert(access.tensor);
      }
    }
    for (std::size_t k = 0; k < region_.ops.size(); ++k) {
      const Op& op = region_.ops[k].op;
      const WorkflowOp& tasks = workflow_.ops[k];
      const bool source = op.is_source();
      const bool lasts = std::ranges::any_of(
          op.outputs, [&](const TensorDesc& t) { return !ended.contains(t.id) || shown.contains(t.id); });
      if (op.home >= 0 || op.replicated) {
        for (TaskNumber n = tasks.first; n < tasks.end; ++n)
          pin(n, op.replicated ? kEverybody : static_cast<std::int32_t>(op.home));
      } else if (source || (lasts && op.base < 0)) {
        const std::vector<std::int32_t> layout = hierarchical_layout(blocks_of(tasks), grid_);
        for (std::size_t b = 0; b < tasks.result.size(); ++b) pin(tasks.result[b], layout[b]);
      }
    }
  }

  [[nodiscard]] static std::vector<Index> blocks_of(const WorkflowOp& tasks) {
    std::vector<Index> blocks;
    for (const Tiling& tiling : tasks.cut.out) blocks.push_back(tiling.tiles());
    return blocks;
  }

  /// A Reduce with a single summand has no operation of its own: the summand's task is pinned too.
  void pin(TaskNumber n, std::int32_t rank) {
    pinned_[static_cast<std::size_t>(n)] = rank;
    const WorkflowTask& task = workflow_.task(n);
    if (task.kind == TaskKind::kReduce && task.inputs == 1) pin(workflow_.inputs_of(task).front().task, rank);
  }

  /// Loads exist from the beginning.
  void create() {
    waiting_.assign(workflow_.tasks.size(), 0);
    readers_.resize(workflow_.tasks.size());
    std::vector<TaskNumber> ready;
    for (TaskNumber n = 0; n < static_cast<TaskNumber>(workflow_.tasks.size()); ++n) {
      WorkflowTask& task = workflow_.task(n);
      if (task.kind == TaskKind::kPair) continue;
      if (task.kind == TaskKind::kLoad) {
        task.process = pinned_[static_cast<std::size_t>(n)];
        cluster_.make(static_cast<Object>(n), task.bytes, task.process);
        continue;
      }
      for (const TaskNumber input : inputs_of(task)) {
        if (workflow_.task(input).kind == TaskKind::kLoad) continue;
        readers_[static_cast<std::size_t>(input)].push_back(n);
        ++waiting_[static_cast<std::size_t>(n)];
      }
      if (waiting_[static_cast<std::size_t>(n)] == 0) frontier_.push_back(n);
    }
  }

  /// Blocks of an Apply, summands of a Reduce.
  [[nodiscard]] std::vector<TaskNumber> inputs_of(const WorkflowTask& task) const {
    std::vector<TaskNumber> list;
    if (task.kind == TaskKind::kApply) {
      for (const TaskInput& input : workflow_.blocks_of(task)) list.push_back(input.task);
    } else {
      for (const TaskInput& input : workflow_.inputs_of(task)) list.push_back(input.task);
    }
    return list;
  }

  /// Runs one operation of a vertex; true if it was the last.
  bool step(TaskNumber n) {
    WorkflowTask& task = workflow_.task(n);
    const auto object = static_cast<Object>(n);
    if (task.kind == TaskKind::kApply) {
      std::vector<Object> operands;
      for (const TaskNumber input : inputs_of(task)) operands.push_back(static_cast<Object>(input));
      const Op& op = region_.ops[static_cast<std::size_t>(task.op)].op;
      std::int32_t where = pinned_[object];
      if (op.base >= 0 && !operands.empty()) where = cluster_.maker(operands.front());
      place(task, operands, object, where);
      return true;
    }
    Summands& left = sums_[object];
    if (left.count() == 0) {
      for (const TaskNumber input : inputs_of(task)) left.add(idx(input), cluster_.maker(idx(input)));
    }
    if (left.count() > 2) {
      const std::vector<Object> two = left.take_two(cluster_);
      const Object sum = cluster_.new_object();
      place(task, two, sum, kNobody);
      left.add(sum, cluster_.maker(sum));
      return false;
    }
    if (left.count() == 1) {
      task.process = cluster_.maker(left.first());
      cluster_.make(object, 0, task.process);
    } else {
      place(task, left.take_two(cluster_), object, pinned_[object]);
    }
    sums_.erase(object);
    return true;
  }

  void place(WorkflowTask& task, const std::vector<Object>& operands, Object result, std::int32_t where) {
    task.process = where == kNobody ? best_rank(operands, task.bytes, result) : where;
    if (task.process == kEverybody) {
      cluster_.make(result, task.bytes, kEverybody);
    } else {
      cluster_.run(operands, result, task.bytes, task.process);
    }
  }

  [[nodiscard]] std::int32_t best_rank(const std::vector<Object>& operands, double bytes, Object result) {
    const std::vector<std::int32_t> candidates = cluster_.ranks_with_one(operands);
    if (candidates.empty())
      return static_cast<std::int32_t>(static_cast<Index>(result) % grid_.ranks());  // unconstrained
    std::int32_t best = candidates.front();
    double least = cluster_.after(operands, bytes, best);
    for (std::size_t k = 1; k < candidates.size(); ++k) {
      const double cost = cluster_.after(operands, bytes, candidates[k]);
      if (cost < least) best = candidates[k], least = cost;
    }
    cluster_.forget(candidates);
    return best;
  }

  void finish(TaskNumber done) {
    for (const TaskNumber reader : readers_[static_cast<std::size_t>(done)]) {
      if (--waiting_[static_cast<std::size_t>(reader)] == 0) frontier_.push_back(reader);
    }
  }

  void set_pairs(const WorkflowTask& apply) {
    if (apply.inputs == 0) return;
    TaskNumber left = workflow_.inputs_of(apply).front().task;
    for (; workflow_.task(left).kind == TaskKind::kPair; left = workflow_.inputs_of(workflow_.task(left)).front().task)
      workflow_.task(left).process = apply.process;
  }

  const Region& region_;
  const NodeGrid& grid_;
  Workflow& workflow_;
  Cluster cluster_;
  std::vector<std::int32_t> pinned_;  ///< per task: the rank it must run on
  std::vector<int> waiting_;          ///< per task: inputs that do not exist yet
  std::vector<std::vector<TaskNumber>> readers_;
  std::unordered_map<Object, Summands> sums_;  ///< by Reduce that has begun
  std::vector<TaskNumber> frontier_;
  std::uint64_t state_ = kSeed;
};

/// The user's grid of nodes.
std::vector<Index> given_grid(const std::vector<Index>& grid, Index nodes) {
  Index count = 1;
  std::string text;
  for (const Index n : grid) {
    count *= n;
    text += (text.empty() ? "" : "x") + std::to_string(n);
  }
  if (count == nodes) return grid;
  throw NoPlan("--node-grid " + text + " has " + std::to_string(count) + " nodes, but there are " +
               std::to_string(nodes));
}

/// In NumS the user gives the node grid; without one it is all nodes in one dimension or in two near-equal ones,
/// whichever is cheaper.
Workflow scheduled_by_lshs(const Region& region, const PlanInputs& inputs, const BlockRequest& blocks) {
  const bool in_nodes =
      inputs.ranks_per_node > 1 && inputs.ranks_per_node < inputs.ranks && inputs.ranks % inputs.ranks_per_node == 0;
  const Index workers = in_nodes ? inputs.ranks_per_node : 1, nodes = inputs.ranks / workers;
  Index side = 1;
  for (Index n = 1; n * n <= nodes; ++n) side = nodes % n == 0 ? n : side;
  std::vector<std::vector<Index>> grids{{nodes, 1}};
  if (side > 1) grids.push_back({nodes / side, side});
  if (!inputs.node_grid.empty()) grids = {given_grid(inputs.node_grid, nodes)};
  std::optional<Workflow> best;
  double least = 0;
  for (const std::vector<Index>& grid : grids) {
    try {
      Workflow workflow = workflow_of(region, inputs, {grid, inputs.ranks * blocks.per_rank}, blocks.most_tasks);
      schedule_lshs(region, {grid, workers}, workflow);
      const auto plan = std::make_shared<const PlanValue>(plan_of(region, inputs, workflow, schedules::kLshs.name));
      const double seconds = grids.size() == 1 ? 0 : price_of(region, inputs, plan).seconds;
      if (best && seconds >= least) continue;
      best = std::move(workflow);
      least = seconds;
    } catch (const NoPlan&) {  // too many tasks
      if (&grid == &grids.back() && !best) throw;
    }
  }
  return std::move(*best);
}

}  // namespace

const Schedule schedules::kLshs{"lshs", "by simulated loads", nullptr, scheduled_by_lshs};

Index NodeGrid::ranks() const {
  Index n = workers;
  for (const Index size : nodes) n *= size;
  return n;
}

std::vector<std::int32_t> hierarchical_layout(const std::vector<Index>& blocks, const NodeGrid& grid) {
  Index count = 1, nodes = 1;
  for (const Index n : blocks) count *= n;
  for (const Index n : grid.nodes) nodes *= n;
  std::vector<Index> of_node(static_cast<std::size_t>(nodes), 0);
  std::vector<std::int32_t> ranks;
  std::vector<Index> at(std::max(blocks.size(), grid.nodes.size()), 0);
  for (Index block = 0; block < count; ++block) {
    Index rest = block, node = 0;
    for (std::size_t d = blocks.size(); d-- > 0; rest /= blocks[d]) at[d] = rest % blocks[d];
    for (std::size_t d = 0; d < grid.nodes.size(); ++d) node = node * grid.nodes[d] + at[d] % grid.nodes[d];
    ranks.push_back(
        static_cast<std::int32_t>(node * grid.workers + of_node[static_cast<std::size_t>(node)]++ % grid.workers));
  }
  return ranks;
}

LshsLoads schedule_lshs(const Region& region, const NodeGrid& grid, Workflow& workflow) {
  return Lshs(region, grid, workflow).run();
}

}  // namespace tdsl::plan
