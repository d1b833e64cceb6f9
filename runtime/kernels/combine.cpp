#include "runtime/kernels/combine.h"

#include "runtime/check.h"
#include "runtime/kernels/label_strides.h"
#include "runtime/kernels/scalar_math.h"

namespace tdsl::rt {

namespace {

using plan::Combine;

struct CombineLoop {
  Index count = 1;
  Index in = 0;
  Index out = 0;
};

/// out[…] = first ? in[…] : out[…] op in[…] over the output's loops; the last one is the row.
template <class T, class F>
void combine_part(const std::vector<CombineLoop>& loops, std::size_t depth, const T* in, T* out, bool first,
                  const F& op) {
  if (depth + 1 < loops.size()) {
    for (Index i = 0; i < loops[depth].count; ++i)
      combine_part(loops, depth + 1, in + i * loops[depth].in, out + i * loops[depth].out, first, op);
    return;
  }
  const CombineLoop row = loops.empty() ? CombineLoop{} : loops.back();
  if (first) {
    for (Index i = 0; i < row.count; ++i) out[i * row.out] = in[i * row.in];
  } else if (row.in == 1 && row.out == 1) {
    for (Index i = 0; i < row.count; ++i) out[i] = op(out[i], in[i]);
  } else {
    for (Index i = 0; i < row.count; ++i) out[i * row.out] = op(out[i * row.out], in[i * row.in]);
  }
}

template <class T, class F>
void combine_all(const plan::Op& op, const TaskArgs& args, T identity, const F& combine) {
  for (const Interval& label : args.labels) {
    if (!label.empty()) continue;
    if (args.fresh) fill(args.outputs[0], identity);
    return;
  }
  const std::size_t labels = op.labels.size();
  const LabelStrides in = strides_of(op.reads[0], labels, args.inputs[0]);
  const LabelStrides out = strides_of(op.out, labels, args.outputs[0]);
  std::vector<CombineLoop> rows;
  std::vector<CombineLoop> parts;
  std::vector<bool> reduced(labels, false);
  for (const plan::ReduceLabel& r : op.reduce) {
    const auto l = static_cast<std::size_t>(r.label);
    reduced[l] = true;
    parts.push_back({args.labels[l].size(), in.step[l], 0});
  }
  for (std::size_t l = 0; l < labels; ++l) {
    if (!reduced[l]) rows.push_back({args.labels[l].size(), in.step[l], out.step[l]});
  }
  const T* const from = reinterpret_cast<const T*>(args.inputs[0].data) + offset_at(in, args.labels);
  T* const to = reinterpret_cast<T*>(args.outputs[0].data) + offset_at(out, args.labels);
  Index count = 1;
  for (const CombineLoop& part : parts) count *= part.count;
  for (Index number = 0; number < count; ++number) {
    Index offset = 0;
    Index rest = number;
    for (std::size_t p = parts.size(); p-- > 0; rest /= parts[p].count) offset += (rest % parts[p].count) * parts[p].in;
    combine_part(rows, 0, from + offset, to, args.fresh && number == 0, combine);
  }
}

template <class T>
void combine_extremes(const plan::Op& op, Combine combine, const TaskArgs& args) {
  switch (combine) {
    case Combine::kMin:
      return combine_all<T>(op, args, scalar::min_identity<T>(),
                            [](T a, T b) { return combined<Combine::kMin>(a, b); });
    case Combine::kMax:
      return combine_all<T>(op, args, scalar::max_identity<T>(),
                            [](T a, T b) { return combined<Combine::kMax>(a, b); });
    default: TDSL_CHECK(false, "numbers combine by sum, prod, min or max");
  }
}

template <class T>
void combine_numbers(const plan::Op& op, Combine combine, const TaskArgs& args) {
  if constexpr (!kIsHalf<T>) {
    const auto sum = [](T a, T b) { return combined<Combine::kSum>(a, b); };
    const auto product = [](T a, T b) { return combined<Combine::kProd>(a, b); };
    if (combine == Combine::kSum) return combine_all<T>(op, args, T{0}, sum);
    if (combine == Combine::kProd) return combine_all<T>(op, args, T{1}, product);
  }
  if constexpr (kIsComplex<T>) {
    TDSL_CHECK(false, "complex numbers combine by sum or prod");
  } else {
    combine_extremes<T>(op, combine, args);
  }
}

void combine_bools(const plan::Op& op, Combine combine, const TaskArgs& args) {
  switch (combine) {
    case Combine::kAny:
    case Combine::kMax:
      return combine_all<bool>(op, args, false, [](bool a, bool b) { return combined<Combine::kAny>(a, b); });
    case Combine::kAll:
    case Combine::kMin:
    case Combine::kProd:
      return combine_all<bool>(op, args, true, [](bool a, bool b) { return combined<Combine::kAll>(a, b); });
    default: TDSL_CHECK(false, "bools combine by any, all, min or max");
  }
}

/// Combines each range of the one dimension by its own operator, as far as the task covers it.
Kernel combine_pieces(const std::shared_ptr<const plan::Op>& op, ElementType type,
                      const std::vector<plan::PackedPiece>& pieces) {
  struct Part {
    Interval elements;
    Kernel kernel;
  };
  std::vector<Part> parts;
  Index begin = 0;
  for (const plan::PackedPiece& piece : pieces) {
    parts.push_back({{begin, begin + piece.count}, combine_kernel(op, piece.combine, type)});
    begin += piece.count;
  }
  const auto bytes = static_cast<Index>(element_size(type));
  return [parts, bytes](const TaskArgs& args) {
    const Operand& all = args.outputs[0];
    for (const Part& part : parts) {
      const Interval common = plan::intersect(part.elements, all.box[0]);
      if (common.empty()) continue;
      Operand output = all;
      output.data += (common.lo - all.box[0].lo) * all.stride[0] * bytes;
      output.box[0] = common;
      std::vector<Interval> labels(args.labels.begin(), args.labels.end());
      labels[0] = plan::intersect(labels[0], common);
      TaskArgs inner = args;
      inner.labels = labels;
      inner.outputs = {&output, 1};
      inner.out_box = output.box;
      part.kernel(inner);
    }
  };
}

}  // namespace

Kernel combine_kernel(std::shared_ptr<const plan::Op> op, Combine combine, ElementType type,
                      const std::vector<plan::PackedPiece>& pieces) {
  TDSL_CHECK(op->own_reads().size() == 1, "a combination reads the partial results alone");
  if (!pieces.empty()) return combine_pieces(op, type, pieces);
  return visit_element_type(type, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    if constexpr (std::same_as<T, bool>) {
      return [op, combine](const TaskArgs& args) { combine_bools(*op, combine, args); };
    } else {
      return [op, combine](const TaskArgs& args) { combine_numbers<T>(*op, combine, args); };
    }
  });
}

}  // namespace tdsl::rt
