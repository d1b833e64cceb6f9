#include "runtime/plan/region/region.h"

#include <bit>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "runtime/check.h"
#include "runtime/plan/op_fields.h"
#include "runtime/plan/space/placement.h"

namespace tdsl::plan {

namespace {

// --- Hash

/// FNV-1a over 64-bit words.
class Hash {
 public:
  void add(std::uint64_t word) { value_ = (value_ ^ word) * 1099511628211ULL; }
  void add(Index number) { add(static_cast<std::uint64_t>(number)); }
  void add(int number) { add(static_cast<Index>(number)); }
  void add(bool flag) { add(Index{flag ? 1 : 0}); }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(const std::vector<Index>& list) {
    add(list.size());
    for (const Index number : list) add(number);
  }
  [[nodiscard]] std::uint64_t value() const { return value_ ^ value_ >> 32; }

 private:
  std::uint64_t value_ = 1469598103934665603ULL;
};

class RegionHash : public FieldVisitor<RegionHash> {
 public:
  std::uint64_t of(const Region& region) {
    hash_.add(region.whole);
    for (const RegionOp& op : region.ops) add(op);
    return hash_.value();
  }

  template <class T>
  void property(const char*, const T& x) {
    if constexpr (std::is_same_v<T, std::vector<bool>>) {
      for (const bool each : x) hash_.add(each);
    } else {
      hash_.add(static_cast<Index>(x));
    }
  }
  void flag(const char*, bool x) { hash_.add(x); }
  void estimate(const char*, double x) { hash_.add(x); }
  void number(const char*, Index x) { hash_.add(x); }
  /// Tensors are numbered by first appearance: their ids are internal to the recorder.
  void tensor(const char*, TensorId id) {
    hash_.add(id < 0 ? Index{-1} : numbers_.try_emplace(id, static_cast<Index>(numbers_.size())).first->second);
  }
  void outputs(const std::vector<TensorDesc>& outputs) {
    for (const TensorDesc& output : outputs) {
      tensor("", output.id);
      hash_.add(output.element.bytes);
      hash_.add(output.shape);
      hash_.add(output.tile);
      add_storage(output);
    }
  }
  template <class Each, class T>
  void list(const char* name, const Each& each, const std::vector<T>& elements) {
    hash_.add(elements.size());
    FieldVisitor::list(name, each, elements);
  }

 private:
  void add(const RegionOp& recorded) {
    hash_.add(recorded.weight);
    hash_.add(recorded.run);
    hash_.add(recorded.op.site);
    hash_.add(recorded.op.run_ahead);
    visit_fields(*this, recorded.op);
    hash_.add(recorded.last_uses.size());
    for (const TensorId id : recorded.last_uses) tensor("", id);
  }

  void add_storage(const TensorDesc& tensor) {
    if (!tensor.sized()) return;
    hash_.add(tensor.storage.values);
    for (const Level level : tensor.storage.levels) hash_.add(static_cast<int>(level));
    for (const int d : tensor.storage.order) hash_.add(d);
    for (const double x : {tensor.stored.lo, tensor.stored.expected, tensor.stored.hi}) hash_.add(x);
  }

  Hash hash_;
  std::unordered_map<TensorId, Index> numbers_;
};

// --- Text

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string range(const Interval& interval) {
  return interval.lo == 0 ? std::to_string(interval.hi)
                          : std::to_string(interval.lo) + ".." + std::to_string(interval.hi);
}

class RegionText {
 public:
  std::string of(const Region& region) {
    char hash[24];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(region.hash));
    const int runs = region.ops.empty() ? 1 : region.ops.back().run + 1;
    std::string text = "region " + std::string(hash) + ": " + std::to_string(region.ops.size()) + " operations, " +
                       std::to_string(runs) + (runs == 1 ? " run, " : " runs, ") +
                       (region.whole ? "whole" : "a part: " + region.fence) + "\n";
    for (std::size_t k = 0; k < region.ops.size(); ++k) {
      const bool begins = k > 0 && region.ops[k].run != region.ops[k - 1].run;
      if (begins) text += "run " + std::to_string(region.ops[k].run + 1) + "\n";
      text += line(k, region.ops[k]) + "\n";
    }
    return text;
  }

 private:
  std::string tensor(TensorId id) {
    return "t" + std::to_string(numbers_.try_emplace(id, numbers_.size()).first->second);
  }

  std::string line(std::size_t k, const RegionOp& recorded) {
    const Op& op = recorded.op;
    char head[96];
    std::snprintf(head, sizeof head, "%5zu  x%-5s line %-4d site %-4d", k, number(recorded.weight).c_str(),
                  rt::line_in(op.line), op.site);
    std::string text = std::string(head) + name_of(op.op_class) + " " + op.name + ":" + outputs(op);
    if (!op.outputs.empty() && !(op.reads.empty() && op.reduce.empty())) text += " =";
    if (!op.reduce.empty()) text += " " + reduction(op);
    const std::span<const Access> own = op.own_reads();
    for (std::size_t r = 0; r < own.size(); ++r) text += (r == 0 ? " " : ", ") + access(op, own[r]);
    if (op.epilogue) text += "; epilogue";
    for (std::size_t r = own.size(); r < op.reads.size(); ++r)
      text += (r == own.size() ? " of " : ", ") + access(op, op.reads[r]);
    if (op.base >= 0) text += "; base " + tensor(op.base);
    if (op.replicated) text += "; everywhere";
    if (op.home >= 0) text += "; on rank " + std::to_string(op.home);
    std::vector<std::string> ended;
    for (const TensorId id : recorded.last_uses) ended.push_back(tensor(id));
    return text + (ended.empty() ? "" : "; ends " + list(ended));
  }

  std::string outputs(const Op& op) {
    std::string text;
    for (const TensorDesc& output : op.outputs) {
      std::vector<std::string> dims;
      for (std::size_t d = 0; d < output.shape.size(); ++d) {
        const int label = d < op.out.size() ? op.out[d].label : kNoLabel;
        dims.push_back((label >= 0 ? op.labels[static_cast<std::size_t>(label)].name + ":" : "") +
                       std::to_string(output.shape[d]) + (op.is_uncut(d) ? " uncut" : ""));
      }
      text += (text.empty() ? " " : ", ") + tensor(output.id) + "[" + list(dims) + "] " + output.element.name;
    }
    return text;
  }

  static std::string reduction(const Op& op) {
    static constexpr std::string_view kNames[] = {"over", "sum", "prod", "min", "max", "any", "all"};
    std::vector<std::string> labels;
    for (const ReduceLabel& reduced : op.reduce) {
      const LabelDesc& label = op.labels[static_cast<std::size_t>(reduced.label)];
      labels.push_back(label.name + ":" + range(label.range));
    }
    return std::string(kNames[static_cast<std::size_t>(op.combine)]) + "[" + list(labels) + "]";
  }

  std::string access(const Op& op, const Access& access) {
    std::vector<std::string> dims;
    for (const DimAccess& dim : access.dims) dims.push_back(subscript(op, dim));
    return tensor(access.tensor) + "[" + list(dims) + "]";
  }

  static std::string subscript(const Op& op, const DimAccess& dim) {
    if (dim.whole) return ":";
    std::string text;
    for (const Affine::Term& term : dim.terms) {
      text += (text.empty() ? "" : " + ") + (term.coefficient == 1 ? "" : std::to_string(term.coefficient) + " ") +
              op.labels[static_cast<std::size_t>(term.label)].name;
    }
    const bool one = dim.offset.size() == 1;
    if (text.empty())
      return one ? std::to_string(dim.offset.lo) : std::to_string(dim.offset.lo) + ".." + std::to_string(dim.offset.hi);
    if (!one) text += " + (" + std::to_string(dim.offset.lo) + ".." + std::to_string(dim.offset.hi) + ")";
    if (one && dim.offset.lo != 0)
      text += (dim.offset.lo < 0 ? " - " : " + ") + std::to_string(dim.offset.lo < 0 ? -dim.offset.lo : dim.offset.lo);
    if (dim.divisor == 1) return text;
    return (text.find(' ') == std::string::npos ? text : "(" + text + ")") + " / " + std::to_string(dim.divisor);
  }

  std::unordered_map<TensorId, std::size_t> numbers_;
};

}  // namespace

double flops_of(const Op& op) { return points_of(op) * op.flops_per_point; }

std::uint64_t hash_of(const Region& region) { return RegionHash().of(region); }

std::string text_of(const Region& region) { return RegionText().of(region); }

}  // namespace tdsl::plan
