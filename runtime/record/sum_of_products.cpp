#include "runtime/record/sum_of_products.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <utility>

#include "runtime/check.h"

namespace tdsl::record {

namespace {

ProductLabels labels_of(const plan::Op& whole) {
  ProductLabels labels;
  labels.outs = whole.shape.size();
  for (const plan::LabelDesc& l : whole.labels) labels.sizes.push_back(static_cast<double>(l.range.size()));
  for (const plan::Access& access : whole.reads) {
    labels.factors.emplace_back();
    for (const plan::DimAccess& dim : access.dims) labels.factors.back().push_back(dim.terms.front().label);
  }
  return labels;
}

/// A factor or an intermediate result.
struct SumOperand {
  plan::TensorId tensor = -1;
  std::vector<int> labels;  ///< labels of the whole sum, per dimension
  Contractions::Set set = 0;
  TensorHandle handle{};  ///< of an intermediate result
};

/// Records one form: contracts the factors pairwise along a path.
class PathRecording {
 public:
  PathRecording(const SumOfProducts& sum, const Contractions& contractions, const SumRecording& recording)
      : sum_(sum), contractions_(contractions), recording_(recording), text_(sum.names) {
    const ProductLabels labels = labels_of(sum.whole);
    for (std::size_t k = 0; k < labels.factors.size(); ++k)
      operands_.push_back({sum.whole.reads[k].tensor, labels.factors[k], Contractions::Set{1} << k});
  }

  TensorHandle run(const ContractionPath& path) {
    for (std::size_t k = 0; k < contractions_.factors(); ++k) sum_alone(k);
    for (const auto& [a, b] : path) contract(a, b);
    return std::move(operands_.back().handle);
  }

 private:
  /// Sums the labels that occur in no other operand.
  void sum_alone(std::size_t k) {
    SumOperand& factor = operands_[k];
    if (contractions_.kept(factor.set) == contractions_.labels_of(k)) return;
    const std::string name = "sum " + text_[k];
    factor = recorded({&factor}, name, place(1 + static_cast<int>(k)), factor.set);
  }

  void contract(std::size_t a, std::size_t b) {
    const SumOperand& x = operands_[a];
    const SumOperand& y = operands_[b];
    const Contractions::Set set = x.set | y.set;
    const bool whole = set == (Contractions::Set{1} << contractions_.factors()) - 1;
    const std::string text = text_[a] + " " + text_[b];
    const std::string name = whole ? sum_.whole.name : text.size() <= kLongestName ? text : "temporary";
    const int site = place(1 + static_cast<int>(contractions_.factors()) +
                           contraction_number(contractions_.factors(), x.set, y.set));
    SumOperand result = recorded({&x, &y}, name, site, set);
    text_.push_back("(" + text + ")");
    // Intermediate results lose their names here.
    operands_[a].handle.release();
    operands_[b].handle.release();
    operands_.push_back(std::move(result));
  }

  [[nodiscard]] int place(int number) const { return sum_.whole.site + number; }

  SumOperand recorded(std::vector<const SumOperand*> operands, const std::string& name, int site,
                      Contractions::Set set) {
    const plan::Op& whole = sum_.whole;
    const std::vector<int> out = kept_in_order(set);
    std::vector<int> number(whole.labels.size(), -1);
    int next = 0;
    for (const int l : out) number[at(l)] = next++;
    std::vector<int> summed;
    for (const SumOperand* operand : operands) {
      for (const int l : operand->labels) {
        if (number[at(l)] >= 0) continue;
        number[at(l)] = next++;
        summed.push_back(l);
      }
    }
    plan::OpBuilder op(class_of(operands, out, summed), name, site, whole.line);
    for (const int l : out) op.out(whole.labels[at(l)].name, whole.labels[at(l)].range);
    for (const int l : summed) op.reduce(whole.labels[at(l)].name, whole.labels[at(l)].range);
    for (const SumOperand* operand : operands) {
      std::vector<plan::DimAccess> dims;
      for (const int l : operand->labels) dims.push_back(plan::at(number[at(l)]));
      op.read(operand->tensor, std::move(dims));
    }
    op.flops(operands.size() == 2 && !summed.empty() ? 2 : 1);
    summed.empty() ? op.divisible() : op.combine(plan::Combine::kSum);
    if (std::popcount(set) == static_cast<int>(contractions_.factors()) && !whole.tile.empty()) op.tile(whole.tile);
    TensorHandle handle = recording_.record(op);
    const plan::TensorId id = handle.id();
    return {id, out, set, std::move(handle)};
  }

  /// The kernels' classification: products of two matrices, or of tensors with more dimensions, use BLIS.
  static plan::OpClass class_of(const std::vector<const SumOperand*>& operands, const std::vector<int>& out,
                                const std::vector<int>& summed) {
    if (summed.empty()) return plan::OpClass::kMap;
    const auto in_both = [&](int l) {
      return std::ranges::all_of(
          operands, [&](const SumOperand* o) { return std::ranges::find(o->labels, l) != o->labels.end(); });
    };
    const bool batch = std::ranges::all_of(out, in_both);
    return operands.size() == 2 && !batch ? plan::OpClass::kContraction : plan::OpClass::kReduce;
  }

  /// The remaining labels, grouped into those of the result and those summed later, so that a product over several
  /// labels is a matrix product. The last group is the one that contains the last label of the last factor, which keeps
  /// neighbours contiguous in memory.
  std::vector<int> kept_in_order(Contractions::Set set) const {
    const Contractions::Labels kept = contractions_.kept(set);
    const int outs = sum_.whole.out_rank();
    std::vector<int> labels;
    for (int l = 0; l < static_cast<int>(sum_.whole.labels.size()); ++l) {
      if ((kept >> l & 1) != 0) labels.push_back(l);
    }
    const auto last = static_cast<std::size_t>(std::bit_width(set) - 1);
    const std::vector<plan::DimAccess>& dims = sum_.whole.reads[last].dims;
    if (!dims.empty() && dims.back().terms.front().label < outs) {
      std::ranges::stable_partition(labels, [outs](int l) { return l >= outs; });
    }
    if (std::popcount(set) == static_cast<int>(contractions_.factors())) std::ranges::sort(labels);
    return labels;
  }

  static std::size_t at(int label) { return static_cast<std::size_t>(label); }

  static constexpr std::size_t kLongestName = 48;

  const SumOfProducts& sum_;
  const Contractions& contractions_;
  const SumRecording& recording_;
  std::vector<std::string> text_;
  std::vector<SumOperand> operands_;
};

/// `X (B C)`
std::string text_of(const SumOfProducts& sum, const ContractionPath& path) {
  std::vector<std::string> texts = sum.names;
  for (const auto& [a, b] : path) texts.push_back("(" + texts[a] + " " + texts[b] + ")");
  return texts.back().substr(1, texts.back().size() - 2);
}

std::string operations_text(double operations) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", operations);
  return text.data();
}

}  // namespace

int SumOfProducts::places(std::size_t factors) { return 2 + static_cast<int>(factors) + contraction_count(factors); }

TensorHandle record_sum(const SumOfProducts& sum, const SumRecording& recording) {
  TDSL_CHECK(sum.whole.reads.size() == sum.names.size() && sum.whole.reads.size() >= 3,
             "a sum of products has three factors or more");
  const Contractions contractions(labels_of(sum.whole));
  std::vector<ContractionPath> paths;
  if (contractions.factors() == 3) {
    paths = contractions.of_three();
  } else {
    for (const auto least : {Contractions::Least::kOperations, Contractions::Least::kElements}) {
      ContractionPath path = contractions.best(least);
      if (!path.empty()) paths.push_back(std::move(path));
    }
  }
  std::vector<std::string> texts;
  for (const ContractionPath& path : paths)
    texts.push_back(text_of(sum, path) + ": " + operations_text(contractions.cost(path).operations) + " operations");
  texts.push_back("all at once: " + operations_text(contractions.operations_as_one()) + " operations");
  TensorHandle result;
  std::vector<Control::Branch> forms;
  const auto note = [&](std::size_t chosen) {
    std::string text = texts[chosen];
    for (std::size_t k = 0; k < texts.size(); ++k) {
      if (k != chosen && (k == 0 || texts[k] != texts[k - 1])) text += "; " + texts[k];
    }
    recording.note(text);
  };
  for (std::size_t k = 0; k < paths.size(); ++k) {
    forms.emplace_back([&, k] {
      note(k);
      result = PathRecording(sum, contractions, recording).run(paths[k]);
    });
  }
  forms.emplace_back([&] {
    note(paths.size());
    plan::OpBuilder op(sum.whole.op_class, sum.whole.name, sum.whole.site, sum.whole.line);
    op.op() = sum.whole;
    op.op().site += SumOfProducts::places(contractions.factors()) - 1;
    result = recording.record(op);
  });
  recording.control.choose(sum.whole.site, forms);
  return result;
}

bool drop_empty_sum(plan::Op& op) {
  const auto is_empty = [&op](const plan::ReduceLabel& r) {
    return op.labels[static_cast<std::size_t>(r.label)].range.empty();
  };
  if (!op.epilogue || std::ranges::none_of(op.reduce, is_empty)) return false;
  op.reads.erase(op.reads.begin(), op.reads.begin() + static_cast<std::ptrdiff_t>(op.own_reads().size()));
  op.op_class = op.reads.empty() ? plan::OpClass::kSource : plan::OpClass::kMap;
  op.labels.resize(op.out.size());  // those of the result come first
  op.reduce.clear();
  op.combine = plan::Combine::kNone;
  op.epilogue = false;
  return true;
}

}  // namespace tdsl::record
