#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/app/run/program_info.h"
#include "runtime/base/number_format.h"
#include "runtime/exact.h"
#include "runtime/kernels/each.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/time_tile.h"
#include "runtime/record/known.h"
#include "runtime/record/tensor.h"
#include "runtime/sparse/coded_visits.h"
#include "runtime/types.h"

// Interface of emitted programs. An emitted program records operations on whole tensors; the session plans them segment
// by segment, and the engine runs them asynchronously. Every rank runs the same program.

namespace tdsl::rt {

using record::TensorHandle;

/// A handle to a tensor of the program.
template <Element T>
class Tensor : public TensorHandle {
 public:
  Tensor() = default;
  explicit Tensor(TensorHandle handle) : TensorHandle(static_cast<TensorHandle&&>(handle)) {}
};

struct AppOptions;
namespace routines {
struct Call;
struct KernelCall;
using MakeKernel = Kernel (*)(const KernelCall& call, SourceLine place);
}  // namespace routines
using record::Known;
using record::kScalars;

enum class RandomKind : std::uint8_t { kUniform, kNormal };

/// An item of `print`: text, a scalar known to every rank, or a tensor, to which it holds a reference.
class PrintItem {
 public:
  PrintItem(const char* text) : text_(text) {}
  template <Element T>
  PrintItem(T value) : text_(format_scalar(value)) {}
  PrintItem(const TensorHandle& tensor) : tensor_(&tensor.state()) {}

  /// The tensor; null for other items.
  [[nodiscard]] const record::TensorState* tensor() const { return tensor_; }
  /// The text of a text or scalar item.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  const record::TensorState* tensor_ = nullptr;
};

/// A result of a loop that runs as one task: the variable that receives it, and the number of the read that initialises
/// it, or -1.
struct LoopResult {
  template <Element T>
  LoopResult(Tensor<T>& result, std::string_view result_name, std::initializer_list<Index> extents, int read = -1)
      : tensor(&result), name(result_name), type(element_type_of<T>), shape(extents), continues(read) {}

  TensorHandle* tensor;
  std::string_view name;
  ElementType type;
  std::initializer_list<Index> shape;  ///< of the call that lists it
  int continues;
};

/// The name a statement computes, for display, and its source position.
struct Where {
  std::string_view name;
  int site;
  int line;
};
/// Floating-point operations of one row of a fused operator.
struct RowFlops {
  RowFlops(Index of_all, Index of_matrix_products = 0, Index at_all_points = 0)
      : all(of_all), of_products(of_matrix_products), dense(at_all_points) {}
  Index all;
  Index of_products;  ///< the part done by BLAS
  Index dense;        ///< the part that does not depend on stored elements, if the rest does
};
/// How partial results of a fused operator combine: uniformly, or piece by piece.
struct Meeting {
  Meeting(plan::Combine alike) : all(alike) {}
  Meeting(std::initializer_list<plan::PackedPiece> list) : pieces(list) {}
  plan::Combine all = plan::Combine::kNone;
  std::vector<plan::PackedPiece> pieces;
};
/// Whether tasks may have a part of a label's range or must have all of it.
enum class Cut : std::uint8_t { kParts, kWhole };
/// A label and its range.
struct Over {
  Over(std::string_view its_label, Index extent, Cut its_cut = Cut::kParts)
      : label(its_label), range{0, extent}, cut(its_cut) {}
  Over(std::string_view its_label, Interval values, Cut its_cut = Cut::kParts)
      : label(its_label), range(values), cut(its_cut) {}

  std::string_view label;
  Interval range;
  Cut cut;
};
/// An operand and its subscripts in terms of the labels, which are numbered from the output's on; by default the labels
/// in order. A tensor moved into it is released after the operation.
struct Read {
  Read(TensorHandle operand);
  Read(TensorHandle operand, std::initializer_list<plan::DimAccess> subscripts);
  Read(const Read&) = default;
  Read& operator=(const Read&) = delete;
  ~Read();

  TensorHandle tensor;
  std::vector<plan::DimAccess> dims;
};

/// A loop or a C++ kernel that runs as one task, for display, and its source position. `head` names it in messages
/// about its operands; `ordered`: it has effects, in program order.
struct LoopWhere {
  std::string_view name;
  int site;
  int line;
  std::string_view head;
  bool ordered = false;
};
/// An operand of such a loop and its name for messages. A tensor moved into it is released after the loop.
struct LoopOperand {
  LoopOperand(TensorHandle operand, std::string_view its_name);
  LoopOperand(const LoopOperand&) = default;
  LoopOperand& operator=(const LoopOperand&) = delete;
  ~LoopOperand();

  TensorHandle tensor;
  std::string_view name;
};

/// The product of integers, computed from left to right in f64, which does not overflow.
template <class... Integers>
[[nodiscard]] double product_of(Integers... factors) {
  return (... * static_cast<double>(factors));
}

class Session {
 public:
  struct Impl;
  /// `impl` must outlive the session.
  explicit Session(Impl& impl) : impl_(&impl) {}

  // Values known to every rank.

  /// Extent bound by input files or --set.
  [[nodiscard]] Index dimension(std::string_view name) const;
  /// `count`, the extent of a dimension that data determine; the run stops if `--set` asserts another one.
  Index found(int line, std::string_view name, Index count);
  template <Element T>
  [[nodiscard]] T param(std::string_view name, T default_value) const;
  template <Element T>
  [[nodiscard]] T param(std::string_view name) const;
  /// Checks that sizes agree; otherwise the run stops with the message, in which `{left}` and `{right}` are replaced by
  /// them.
  void check_equal(int line, Exact left, Exact right, std::string_view message);
  /// The same for `left <= right`.
  void check_at_most(int line, Exact left, Exact right, std::string_view message);
  /// Checks the values [lo, hi] of an affine subscript against a dimension of `extent`, before data is computed.
  void check_subscript(int line, Interval values, Index extent, std::string_view text);
  /// Warns once per line, unless --quiet, that more than 1 MiB is gathered on one of several ranks (without a routine:
  /// on each computing rank).
  void gathers(int line, std::string_view routine, std::string_view operand, Index bytes);
  /// Suppresses the warning of `gathers` for this line: the program permits the gather, or the compiler has warned
  /// about it.
  void gathers_in_silence(int line);
  /// assert on a value known to every rank.
  void check(int line, bool condition, std::string_view message);

  /// The steps of a block of a loop (Note [Time tiles] in plan/time_tile.h): those of --time-tile, or the cheapest.
  [[nodiscard]] Index time_tile(const plan::StencilLoop& loop);

  // Recording. Results are lazy. `tile`: block edges per dimension, from an annotation.

  template <Element T>
  [[nodiscard]] Tensor<T> input(std::string_view name, std::initializer_list<Index> shape, int site, int line,
                                std::initializer_list<Index> tile = {}) {
    return Tensor<T>(record_input(name, element_type_of<T>, shape, site, line, tile));
  }
  /// A matrix in compressed blocks.
  template <Element T>
  [[nodiscard]] Tensor<T> stored_input(std::string_view name, std::initializer_list<Index> shape, int site, int line,
                                       std::initializer_list<Index> tile = {}) {
    return Tensor<T>(record_stored_input(name, element_type_of<T>, shape, site, line, tile));
  }
  /// The same, with columns that may be coded for these visits.
  template <Element T>
  [[nodiscard]] Tensor<T> coded_input(std::string_view name, std::initializer_list<Index> shape,
                                      const sparse::CodedVisits& visits, int site, int line,
                                      std::initializer_list<Index> tile = {}) {
    code_columns(name, visits);
    return stored_input<T>(name, shape, site, line, tile);
  }
  /// Seed of the random numbers: `--seed`.
  [[nodiscard]] std::uint64_t seed() const;
  template <Element T>
  [[nodiscard]] Tensor<T> random(RandomKind kind, std::string_view name, std::initializer_list<Index> shape,
                                 std::uint64_t call_site, std::initializer_list<Index> iterations, int site, int line,
                                 std::initializer_list<Index> tile = {}) {
    return Tensor<T>(record_random(kind, name, element_type_of<T>, shape, call_site, iterations, site, line, tile));
  }
  /// `sprandom`, with a dense or a compressed result.
  [[nodiscard]] Tensor<double> sprandom(std::string_view name, std::initializer_list<Index> shape, double density,
                                        std::uint64_t call_site, std::initializer_list<Index> iterations, int site,
                                        int line, std::initializer_list<Index> tile = {});
  [[nodiscard]] Tensor<double> stored_sprandom(std::string_view name, std::initializer_list<Index> shape,
                                               double density, std::uint64_t call_site,
                                               std::initializer_list<Index> iterations, int site, int line,
                                               std::initializer_list<Index> tile = {});
  /// An elementwise map; a source if it has no operands. `flops`: per point.
  template <Element T>
  [[nodiscard]] Tensor<T> map(const Where& where, std::initializer_list<Over> out, std::initializer_list<Read> reads,
                              double flops, EmittedKernel kernel) {
    return Tensor<T>(record_map(element_type_of<T>, where, out, reads, flops, kernel));
  }
  /// A reduction over the labels `over`.
  template <Element T>
  [[nodiscard]] Tensor<T> reduce(const Where& where, std::initializer_list<Over> out, std::initializer_list<Over> over,
                                 plan::Combine combine, std::initializer_list<Read> reads, double flops,
                                 EmittedKernel kernel) {
    return Tensor<T>(record_reduction(element_type_of<T>, where, out, over, combine, reads, flops, kernel));
  }
  /// A fused operator: rows of one label, which is in `out` or is reduced `over`; `flops` are per row.
  template <Element T>
  [[nodiscard]] Tensor<T> rows(const Where& where, std::initializer_list<Over> out, std::initializer_list<Over> over,
                               Meeting meeting, std::initializer_list<Read> reads, RowFlops flops,
                               EmittedKernel kernel) {
    return Tensor<T>(record_rows(element_type_of<T>, where, out, over, meeting, reads, flops, kernel, false));
  }
  /// The same, ending in a map, which writes every element after its own reads.
  template <Element T>
  [[nodiscard]] Tensor<T> row_map(const Where& where, std::initializer_list<Over> out, std::initializer_list<Over> over,
                                  Meeting meeting, std::initializer_list<Read> reads, RowFlops flops,
                                  EmittedKernel kernel) {
    return Tensor<T>(record_rows(element_type_of<T>, where, out, over, meeting, reads, flops, kernel, true));
  }
  /// A map or reduction over the points at which the first operand, a compressed tensor, stores an element. `flops`:
  /// per point.
  template <Element T>
  [[nodiscard]] Tensor<T> sparse(const Where& where, std::initializer_list<Over> out, std::initializer_list<Over> over,
                                 plan::Combine combine, std::initializer_list<Read> reads, double flops,
                                 EmittedKernel kernel) {
    return Tensor<T>(record_sparse(element_type_of<T>, where, out, over, combine, reads, flops, kernel));
  }
  /// One of several results that a fused operator packs into one tensor: the elements from number `first` on, in
  /// row-major order. Counts in f64 become integers. A moved `packed` is released after the operation.
  template <Element T>
  [[nodiscard]] Tensor<T> piece(const Where& where, TensorHandle packed, Index first, std::initializer_list<Over> out) {
    return Tensor<T>(record_piece(element_type_of<T>, where, packed, first, out));
  }
  /// A sum of products of the two reads (floating-point), computed by BLIS.
  template <Element T>
  [[nodiscard]] Tensor<T> contraction(const Where& where, std::initializer_list<Over> out,
                                      std::initializer_list<Over> over, std::initializer_list<Read> reads) {
    return Tensor<T>(record_product(element_type_of<T>, where, out, over, reads));
  }
  /// The same, followed by a map over its elements (plan::Op::epilogue): the map reads the product, then `others`.
  template <Element T>
  [[nodiscard]] Tensor<T> contraction(const Where& where, std::initializer_list<Over> out,
                                      std::initializer_list<Over> over, std::initializer_list<Read> reads,
                                      std::initializer_list<Read> others, EmittedKernel epilogue) {
    return Tensor<T>(record_product(element_type_of<T>, where, out, over, reads, others, epilogue));
  }
  /// A sum of products of three or more reads (floating-point), contracted in the best order for their sizes
  /// (record/sum_of_products.h). Its sites are those of `record::SumOfProducts::places`, starting at `where.site`.
  template <Element T>
  [[nodiscard]] Tensor<T> sum_of_products(const Where& where, std::initializer_list<Over> out,
                                          std::initializer_list<Over> over, std::initializer_list<Read> reads,
                                          std::initializer_list<Index> tile = {}) {
    return Tensor<T>(record_sum(element_type_of<T>, where, out, over, reads, tile));
  }
  /// An arbitrary operation with an emitted kernel.
  template <Element T>
  [[nodiscard]] Tensor<T> compute(plan::OpBuilder& op, EmittedKernel kernel) {
    return Tensor<T>(record(op, element_type_of<T>, kernel.take()));
  }
  /// An arbitrary sum of products. The planner may split it into partial results, so the sink makes its kernel.
  template <Element T>
  [[nodiscard]] Tensor<T> contraction(plan::OpBuilder& op) {
    return Tensor<T>(record(op, element_type_of<T>, nullptr));
  }
  template <Element T>
  [[nodiscard]] Tensor<T> contraction(plan::OpBuilder& op, EmittedKernel epilogue) {
    return Tensor<T>(record_epilogue(op, element_type_of<T>, epilogue));
  }

  /// A library routine; its results are stored in `call`. `make` creates its kernels. (Emitted programs use
  /// runtime/routines/calls.h.)
  void routine(routines::Call& call, routines::MakeKernel make);

  /// A loop as one task, which reads whole tensors. Its results are whole tensors on the rank that runs it. `flops`: an
  /// estimate. Warns like `gathers` about large operands.
  void loop(const LoopWhere& where, std::initializer_list<LoopOperand> reads, std::initializer_list<LoopResult> results,
            Index flops, EmittedKernel kernel);

  // Effects, in program order.

  void output(std::string_view name, TensorHandle value, int site, int line);
  /// A series begins. `none`: a tensor of its type without records, which are along the first dimension.
  void begin_series(std::string_view name, TensorHandle none, int site, int line);
  /// Appends a record, numbered from 0 on.
  void append(std::string_view name, TensorHandle value, Index record, int site, int line);
  void print(std::initializer_list<PrintItem> items, int site, int line);
  /// assert on a computed value.
  void check(int line, const Tensor<bool>& condition, std::string_view message, int site);

  // Control flow. A value read here becomes known to every rank: everything recorded so far is planned, and the program
  // waits for this scalar only.

  template <Element T>
  [[nodiscard]] T read(const Tensor<T>& scalar, int site, int line) {
    T value{};
    read_bytes(scalar, site, line, reinterpret_cast<std::byte*>(&value));
    return value;
  }
  /// Half-open range; `step` is not 0; calls `body(i)`. Loops without a mark depend on params and extents only.
  void for_loop(Index begin, Index end, Index step, const std::function<void(Index)>& body) {
    for_loop(record::Known::kStart, begin, end, step, body);
  }
  void for_loop(record::Loop loop, Index begin, Index end, Index step, const std::function<void(Index)>& body);
  /// Calls `body(iteration number)` while `condition()` holds.
  void while_loop(const std::function<bool()>& condition, const std::function<void(Index)>& body) {
    while_loop(record::Known::kStart, condition, body);
  }
  void while_loop(record::Loop loop, const std::function<bool()>& condition, const std::function<void(Index)>& body);
  /// A branch on computed data or on a loop's variable.
  void if_else(record::Known known, int site, bool condition, const std::function<void()>& then_branch,
               const std::function<void()>& else_branch);
  /// The next operation has extents that depend on computed data.
  void fence(int line);
  /// Calls `body(variant)` for one of the variants 0, 1, …, which have equal results; the plan selects it.
  void choose(int site, int variants, const std::function<void(int)>& body);

  [[nodiscard]] const AppOptions& options() const;

 private:
  [[nodiscard]] TensorHandle record(plan::OpBuilder& op, ElementType type, Kernel kernel);
  [[nodiscard]] TensorHandle record_rows(ElementType type, const Where& where, std::initializer_list<Over> out,
                                         std::initializer_list<Over> over, Meeting meeting,
                                         std::initializer_list<Read> reads, RowFlops flops, EmittedKernel& kernel,
                                         bool overwrites);
  [[nodiscard]] TensorHandle record_map(ElementType type, const Where& where, std::initializer_list<Over> out,
                                        std::initializer_list<Read> reads, double flops, EmittedKernel& kernel);
  [[nodiscard]] TensorHandle record_reduction(ElementType type, const Where& where, std::initializer_list<Over> out,
                                              std::initializer_list<Over> over, plan::Combine combine,
                                              std::initializer_list<Read> reads, double flops, EmittedKernel& kernel);
  [[nodiscard]] TensorHandle record_sparse(ElementType type, const Where& where, std::initializer_list<Over> out,
                                           std::initializer_list<Over> over, plan::Combine combine,
                                           std::initializer_list<Read> reads, double flops, EmittedKernel& kernel);
  [[nodiscard]] TensorHandle record_piece(ElementType type, const Where& where, const TensorHandle& packed, Index first,
                                          std::initializer_list<Over> out);
  [[nodiscard]] TensorHandle record_product(ElementType type, const Where& where, std::initializer_list<Over> out,
                                            std::initializer_list<Over> over, std::initializer_list<Read> reads);
  [[nodiscard]] TensorHandle record_product(ElementType type, const Where& where, std::initializer_list<Over> out,
                                            std::initializer_list<Over> over, std::initializer_list<Read> reads,
                                            std::initializer_list<Read> others, EmittedKernel& epilogue);
  [[nodiscard]] TensorHandle record_epilogue(plan::OpBuilder& op, ElementType type, EmittedKernel& epilogue);
  [[nodiscard]] TensorHandle record_sum(ElementType type, const Where& where, std::initializer_list<Over> out,
                                        std::initializer_list<Over> over, std::initializer_list<Read> reads,
                                        std::initializer_list<Index> tile);
  [[nodiscard]] TensorHandle record_input(std::string_view name, ElementType type, std::initializer_list<Index> shape,
                                          int site, int line, std::initializer_list<Index> tile);
  [[nodiscard]] TensorHandle record_stored_input(std::string_view name, ElementType type,
                                                 std::initializer_list<Index> shape, int site, int line,
                                                 std::initializer_list<Index> tile);
  void code_columns(std::string_view input, const sparse::CodedVisits& visits);
  [[nodiscard]] TensorHandle record_random(RandomKind kind, std::string_view name, ElementType type,
                                           std::initializer_list<Index> shape, std::uint64_t call_site,
                                           std::initializer_list<Index> iterations, int site, int line,
                                           std::initializer_list<Index> tile);
  void read_bytes(const TensorHandle& scalar, int site, int line, std::byte* to);

  Impl* impl_;
};

/// The whole life of an executable: options, file headers, start of the ranks, `program`, renaming of outputs,
/// statistics. Returns the exit code.
[[nodiscard]] int run_program(int argc, char** argv, const ProgramInfo& info,
                              const std::function<void(Session&)>& program);

}  // namespace tdsl::rt
