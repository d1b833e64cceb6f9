#include "tools/tdslc/job/size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/app/options/options.h"
#include "runtime/check.h"
#include "runtime/message_id.h"
#include "tools/tdslc/job/text.h"

namespace tdsl::tools {

namespace {

[[noreturn]] void size_error(const std::string& text) {
  throw rt::RunError(rt::with_id(text, "job-size"), rt::ExitCode::kUsage);
}

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// One rank per socket, using all its cores, unless ranks or threads are given.
std::int64_t ranks_of_node(const Site& site, const JobWishes& wishes) {
  std::int64_t most = site.sockets;
  if (wishes.threads) {
    if (*wishes.threads > site.cores)
      size_error(fmt::format("--threads {}: nodes have {} cores", *wishes.threads, site.cores));
    most = std::min(most, site.cores / *wishes.threads);
  }
  if (!wishes.ranks) return most;
  if (!wishes.nodes) return std::min(most, *wishes.ranks);
  // If ranks and nodes are given, there may be more than one rank per socket.
  const std::int64_t needed = quotient_up(*wishes.ranks, *wishes.nodes);
  if (needed * wishes.threads.value_or(1) > site.cores) {
    size_error(fmt::format("-n {} --nodes {}: {} ranks on a node of {} cores", *wishes.ranks, *wishes.nodes, needed,
                           site.cores));
  }
  return needed;
}

JobShape shape_of(const Site& site, const JobWishes& wishes, std::int64_t nodes) {
  JobShape shape;
  shape.ranks_per_node = ranks_of_node(site, wishes);
  shape.nodes = nodes;
  shape.ranks = wishes.ranks.value_or(nodes * shape.ranks_per_node);
  shape.threads =
      wishes.threads.value_or(std::max<std::int64_t>(1, site.cores / std::max(shape.ranks_per_node, site.sockets)));
  return shape;
}

/// Bytes of blocks available per rank.
std::int64_t limit_of_rank(const Site& site, const JobWishes& wishes, const JobShape& shape) {
  const double node =
      wishes.node_memory ? static_cast<double>(*wishes.node_memory) : kMemoryShare * static_cast<double>(site.memory);
  if (node <= static_cast<double>(shape.ranks_per_node * kProcessBytes)) {
    size_error(fmt::format("{}: {} ranks need {} besides blocks", wishes.node_memory ? "--mem" : "memory of a node",
                           shape.ranks_per_node,
                           binary_bytes(static_cast<double>(shape.ranks_per_node * kProcessBytes))));
  }
  return blocks_of_rank(node, shape.ranks_per_node);
}

/// Searches for the number of nodes.
class NodeSearch {
 public:
  NodeSearch(const Site& site, const JobWishes& wishes, const JobEstimator& estimate)
      : site_(site), wishes_(wishes), estimate_(estimate) {}

  JobSize fixed(std::int64_t nodes) {
    if (!fits(nodes) && !spill()) {
      size_error(fmt::format(
          "{}: a rank needs {} of blocks{}, of {} that it may have: more nodes (--nodes), or more memory (--mem)",
          on(found_.shape), binary_bytes(found_.estimate.peak), largest(),
          binary_bytes(static_cast<double>(allowed()))));
    }
    return found_;
  }

  /// The fewest nodes: doubling until the program fits, then bisection.
  JobSize fewest() {
    std::int64_t low = 0, high = 1;
    while (!fits(high)) {
      low = high;
      if (high == site_.nodes) {
        if (!spill()) too_large();
        found_.too_few = too_few_;
        return found_;
      }
      high = std::min(2 * high, site_.nodes);
    }
    JobSize best = found_;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      if (fits(middle)) {
        high = middle;
        best = found_;
      } else {
        low = middle;
      }
    }
    best.too_few = too_few_;
    return best;
  }

 private:
  static std::string on(const JobShape& shape) {
    return fmt::format("{} node{} x {} rank{}", shape.nodes, shape.nodes == 1 ? "" : "s", shape.ranks_per_node,
                       shape.ranks_per_node == 1 ? "" : "s");
  }

  [[nodiscard]] std::string largest() const {
    return found_.estimate.largest.empty() ? "" : " (" + found_.estimate.largest + ")";
  }
  [[nodiscard]] std::int64_t allowed() const { return wishes_.rank_memory.value_or(found_.rank_limit); }

  /// Sets found_. Plans without a limit, and within the available memory if that plan does not fit.
  bool fits(std::int64_t nodes) {
    found_ = {};
    found_.shape = shape_of(site_, wishes_, nodes);
    found_.rank_limit = limit_of_rank(site_, wishes_, found_.shape);
    const double limit = static_cast<double>(allowed());
    if (wishes_.rank_memory && *wishes_.rank_memory > found_.rank_limit) {
      size_error(fmt::format("--memory {}: on {} a rank may have {}", memory_given(), on(found_.shape),
                             rt::shown_size(found_.rank_limit, wishes_.rank_memory_text)));
    }
    found_.estimate = estimate_(found_.shape, wishes_.rank_memory.value_or(0));
    bool fit = found_.estimate.fits && found_.estimate.peak <= limit;
    if (!fit && !wishes_.rank_memory) {
      found_.estimate = estimate_(found_.shape, allowed());
      fit = found_.estimate.fits;
      found_.program_memory = allowed();
    }
    if (!fit && (!too_few_ || too_few_->first < nodes)) too_few_ = {nodes, found_.estimate.peak};
    return fit;
  }

  /// If nothing else fits, plans with tensors on disk.
  bool spill() {
    if (!found_.estimate.spills) return false;
    found_.estimate.fits = true;
    // Time spent waiting for the disk is not known by loop.
    if (found_.estimate.seconds > 0)
      found_.estimate.iteration *= std::max(1.0, found_.estimate.spill_seconds / found_.estimate.seconds);
    found_.estimate.seconds = found_.estimate.spill_seconds;
    found_.estimate.peak = static_cast<double>(allowed());
    return true;
  }

  [[noreturn]] void too_large() const {
    if (wishes_.rank_memory) {
      size_error(fmt::format(
          "--memory {} is too small: on {} nodes a rank needs {} of blocks{}", memory_given(), site_.nodes,
          rt::shown_size(static_cast<std::int64_t>(found_.estimate.peak), wishes_.rank_memory_text), largest()));
    }
    size_error(fmt::format(
        "a rank needs {} of blocks on all {} nodes{}, of {} that it may have there: no job of this site is large "
        "enough",
        binary_bytes(found_.estimate.peak), site_.nodes, largest(), binary_bytes(static_cast<double>(allowed()))));
  }

  [[nodiscard]] std::string memory_given() const {
    return rt::given_size(*wishes_.rank_memory, wishes_.rank_memory_text);
  }

  const Site& site_;
  const JobWishes& wishes_;
  const JobEstimator& estimate_;
  JobSize found_;
  std::optional<std::pair<std::int64_t, double>> too_few_;
};

void settle_memory(const JobWishes& wishes, JobSize& size) {
  const std::int64_t given = wishes.rank_memory.value_or(size.program_memory);
  const double blocks = given > 0 ? static_cast<double>(given) : size.estimate.peak;
  const double node =
      static_cast<double>(size.shape.ranks_per_node) * (kMemoryMargin * blocks + static_cast<double>(kProcessBytes));
  size.node_megabytes = static_cast<std::int64_t>(
      std::ceil((wishes.node_memory ? static_cast<double>(*wishes.node_memory) : node) / 1048576.0));
}

/// Disk is used only for tensors that do not fit into memory.
void settle_disk(const Site& site, JobSize& size) {
  if (!size.estimate.spills || !(size.estimate.disk > 0)) return;
  const double node = kDiskMargin * size.estimate.disk * static_cast<double>(size.shape.ranks_per_node);
  size.disk_megabytes = static_cast<std::int64_t>(std::ceil(node / 1048576.0));
  if (site.scratch > 0 && size.disk_megabytes > site.scratch >> 20) {
    size_error(
        fmt::format("{} of tensors that memory has no room for would be on the disk of a node, which has {} (scratch): "
                    "more nodes (--nodes)",
                    binary_bytes(node), binary_bytes(static_cast<double>(site.scratch))));
  }
}

void settle_time(const Site& site, const JobWishes& wishes, JobSize& size) {
  const JobEstimate& e = size.estimate;
  const double files = e.read_bytes / site.read_rate + e.written_bytes / site.write_rate;
  size.low = kFaster * e.seconds + files / kTimeMargin;
  size.high = kSlower * e.seconds + files;
  if (wishes.seconds) {
    size.seconds = *wishes.seconds;
    if (site.max_time > 0 && size.seconds > site.max_time) {
      size_error(
          fmt::format("--time {}: a job may take {} (max_time)", slurm_time(size.seconds), slurm_time(site.max_time)));
    }
  } else if (!e.unknown.empty()) {
    size_error(e.unknown + (e.counts ? ": give --iterations N, or --time" : ": give --time"));
  } else {
    const double wanted = std::max(kTimeMargin * kSlower * e.seconds + files, static_cast<double>(kLeastSeconds));
    if (wanted > 1e10) size_error(fmt::format("the program is predicted to take {}", rough_time(size.high)));
    size.seconds = quotient_up(static_cast<std::int64_t>(std::ceil(wanted)), 60) * 60;
    if (site.max_time > 0) size.seconds = std::min(size.seconds, site.max_time);
  }
  if (!e.unknown.empty() || size.high <= static_cast<double>(size.seconds)) return;
  if (!wishes.checkpoints && !wishes.seconds) {
    size_error(fmt::format(
        "the program is predicted to take {} to {} on {} nodes, and a job may take {}: more nodes (--nodes), or --time "
        "if you know better",
        rough_time(size.low), rough_time(size.high), size.shape.nodes, rough_time(static_cast<double>(size.seconds))));
  }
  size.requeues = static_cast<std::int64_t>(std::ceil(size.high / static_cast<double>(size.seconds))) - 1;
}

/// A run that is told to stop continues to the next boundary, completes the operations recorded ahead, and saves;
/// another checkpoint may be in progress.
void settle_signal(const Site& site, const JobWishes& wishes, JobSize& size) {
  if (!wishes.checkpoints) return;
  constexpr double kRecordedAhead = 10, kLeastLead = 120;
  const double saved =
      size.estimate.peak + (size.estimate.spills ? size.estimate.disk : 0);  // spilled tensors are saved too
  const double save = saved * static_cast<double>(size.shape.ranks) / site.write_rate;
  size.wanted_lead = std::max(kLeastLead, 2 * kSlower * size.estimate.iteration + kRecordedAhead + 2 * save);
  const double lead = std::min(size.wanted_lead, kMostLead);
  if (2 * lead > static_cast<double>(size.seconds)) {
    size_error(fmt::format(
        "--checkpoint: a job of {} is too short: the end of an iteration and two checkpoints take {}: give --time",
        rough_time(static_cast<double>(size.seconds)), rough_time(lead)));
  }
  // The lead has a margin for an iteration slower than predicted and for a checkpoint just begun. The minimum without
  // margins:
  if (const double least = size.estimate.iteration + save; least > kMostLead) {
    size_error(
        fmt::format("--checkpoint: an iteration and a checkpoint take {}, and Slurm tells a job that its time ends at "
                    "most {} before: more nodes (--nodes)",
                    rough_time(least), rough_time(kMostLead)));
  }
  size.signal_lead = static_cast<std::int64_t>(std::ceil(lead));
}

}  // namespace

JobEstimate greater_of(const JobEstimate& a, const JobEstimate& b) {
  const bool first = a.peak > b.peak || (a.peak == b.peak && a.seconds >= b.seconds);
  JobEstimate both = first ? a : b;
  const JobEstimate& other = first ? b : a;
  const auto spilled = [](const JobEstimate& e) { return e.fits ? e.seconds : e.spill_seconds; };
  both.spill_seconds = std::max(spilled(a), spilled(b));
  both.fits = a.fits && b.fits;
  both.spills = !both.fits && (a.fits || a.spills) && (b.fits || b.spills);
  both.disk = std::max(a.disk, b.disk);
  both.seconds = std::max(a.seconds, b.seconds);
  both.iteration = std::max(a.iteration, b.iteration);
  both.read_bytes = std::max(a.read_bytes, b.read_bytes);
  both.written_bytes = std::max(a.written_bytes, b.written_bytes);
  // Unknown times that a number of iterations cannot resolve take precedence.
  if (!other.unknown.empty() && (both.unknown.empty() || (both.counts && !other.counts)))
    both.unknown = other.unknown, both.counts = other.counts;
  return both;
}

std::int64_t blocks_of_rank(double node_bytes, std::int64_t ranks_per_node) {
  const double bytes =
      (node_bytes / static_cast<double>(ranks_per_node) - static_cast<double>(kProcessBytes)) / kMemoryMargin;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes));
}

JobSize size_job(const Site& site, const JobWishes& wishes, const JobEstimator& estimate) {
  std::optional<std::int64_t> nodes = wishes.nodes;
  if (wishes.node_memory && *wishes.node_memory > site.memory) {
    size_error(fmt::format("--mem {}: nodes have {}", rt::given_size(*wishes.node_memory, wishes.node_memory_text),
                           rt::shown_size(site.memory, wishes.node_memory_text)));
  }
  if (wishes.ranks && nodes && *wishes.ranks < *nodes)
    size_error(fmt::format("-n {} --nodes {}: every node has a rank at least", *wishes.ranks, *nodes));
  if (wishes.ranks && !nodes) nodes = quotient_up(*wishes.ranks, ranks_of_node(site, wishes));
  if (nodes && *nodes > site.nodes)
    size_error(fmt::format("{} nodes are wanted, and a job can have {}", *nodes, site.nodes));
  NodeSearch search(site, wishes, estimate);
  JobSize size = nodes ? search.fixed(*nodes) : search.fewest();
  settle_memory(wishes, size);
  settle_disk(site, size);
  settle_time(site, wishes, size);
  settle_signal(site, wishes, size);
  return size;
}

}  // namespace tdsl::tools
