#include "runtime/app/session/session.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/app/session/dense_storage.h"
#include "runtime/app/session/session_impl.h"
#include "runtime/app/session/stored_tiles.h"
#include "runtime/kernels/philox.h"
#include "runtime/kernels/piece.h"
#include "runtime/kernels/product/sum_of_products.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/message_id.h"
#include "runtime/record/sum_of_products.h"
#include "runtime/size.h"

namespace tdsl::rt {

namespace {

std::vector<Index> row_major_strides(const std::vector<Index>& shape) {
  std::vector<Index> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

template <class T>
void fill_random(RandomKind kind, RandomStream stream, const std::vector<Index>& global_strides, const TaskArgs& args) {
  const Operand& out = args.outputs[0];
  const std::size_t rank = global_strides.size();
  std::vector<Index> lo(rank);
  std::vector<Index> extents(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    lo[d] = out.box.dim[d].lo;
    extents[d] = out.box.dim[d].size();
  }
  const RandomBlock<T> block{reinterpret_cast<T*>(out.data), std::span(out.stride).first(rank), lo, extents,
                             global_strides};
  kind == RandomKind::kUniform ? fill_uniform(stream, block) : fill_normal(stream, block);
}

/// Sparse tensors never store -0.
template <class T>
void drop_negative_zeros(const Operand& out, std::size_t d, T* at) {
  if constexpr (std::is_floating_point_v<T> || kIsComplex<T>) {
    const auto rank = static_cast<std::size_t>(out.box.rank);
    if (d == rank) {
      *at += T{0};
      return;
    }
    for (Index k = 0; k < out.box.dim[d].size(); ++k) drop_negative_zeros(out, d + 1, at + k * out.stride[d]);
  }
}

template <class T>
void read_block(const TensorReader& reader, const TaskArgs& args) {
  const Operand& out = args.outputs[0];
  const Corners corners(out.box);
  reader.read_box(corners.lo(), corners.hi(), reinterpret_cast<T*>(out.data),
                  std::span(out.stride).first(plan::idx(out.box.rank)));
}

}  // namespace

Index Session::dimension(std::string_view name) const { return impl_->setup.inputs.dimension(name); }

Index Session::found(int line, std::string_view name, Index count) {
  const auto given = options().dimensions.find(std::string(name));
  if (given != options().dimensions.end() && given->second != count && !impl_->surveys())
    impl_->stop(line, with_id(found_text(name, count, given->second), "wrong-shape"));
  return count;
}

void Session::gathers(int line, std::string_view routine, std::string_view operand, Index bytes) {
  const bool many = !impl_->surveys() && impl_->setup.plan_inputs.ranks > 1 && bytes > plan::kGatheredBytes;
  if (!many || options().quiet || impl_->setup.world.rank() != 0 || impl_->silent.contains(line) ||
      !impl_->gathered.emplace(line, routine).second)
    return;
  const std::string text = plan::gathered_text(std::string(routine), std::string(operand), bytes);
  std::fprintf(stderr, "%s:%d: warning: %s\n", std::string(impl_->at(line).file).c_str(), line_in(line), text.c_str());
}

void Session::gathers_in_silence(int line) { impl_->silent.insert(line); }

Index Session::time_tile(const plan::StencilLoop& loop) {
  const plan::PlanInputs& inputs = impl_->setup.plan_inputs;
  return impl_->control.decide(
      plan::time_tile(loop, options().time_tile, inputs.machine, inputs.ranks, inputs.threads));
}

const AppOptions& Session::options() const { return impl_->setup.options; }

std::uint64_t Session::seed() const { return options().seed; }

template <Element T>
T Session::param(std::string_view name, T default_value) const {
  return options().param<T>(std::string(name), default_value);
}
template <Element T>
T Session::param(std::string_view name) const {
  return options().param<T>(std::string(name));
}
#define TDSL_PARAM(enumerator, T, ...)                  \
  template T Session::param(std::string_view, T) const; \
  template T Session::param<T>(std::string_view) const;
TDSL_ELEMENT_TYPES(TDSL_PARAM)
#undef TDSL_PARAM

void Session::check_equal(int line, Exact left, Exact right, std::string_view message) {
  impl_->check_equal(line, left, right, message);
}

void Session::check_at_most(int line, Exact left, Exact right, std::string_view message) {
  impl_->check_at_most(line, left, right, message);
}

void Session::check_subscript(int line, Interval values, Index extent, std::string_view text) {
  // There is at least one value. Overflowed sums are outside at one end.
  const auto inside = [extent](Index value) { return value >= 0 && value < extent; };
  const Index last = scalar::subtract<Index>(values.hi, 1);
  if (impl_->surveys() || (inside(values.lo) && inside(last))) return;
  const Index bad = inside(values.lo) ? last : values.lo;
  impl_->stop(line, "subscript " + std::string(text) + " reaches " + std::to_string(bad) + ", but the dimension has " +
                        std::to_string(extent) + (extent == 1 ? " element" : " elements") + " [out-of-bounds]");
}

void Session::check(int line, bool condition, std::string_view message) {
  if (!condition && !impl_->surveys()) impl_->stop(line, with_id(std::string(message), "assertion"));
}

void Session::Impl::require_room(std::string_view name, ElementType type, std::span<const Index> shape,
                                 int line) const {
  if (surveys() || sink->dry_run() || setup.options.memory_bytes) return;
  const auto no_room =
      no_room_text(name, type, shape, physical_memory(), setup.world.topology().node_count, setup.info.is_sparse(name));
  if (no_room) stop(line, with_id(*no_room, "out-of-memory"));
}

TensorHandle Session::record(plan::OpBuilder& op, ElementType type, Kernel kernel) {
  impl_->keep(std::move(kernel));
  return impl_->record(std::move(op.op()), type);
}

Read::Read(TensorHandle operand) : tensor(std::move(operand)) {
  for (std::size_t d = 0; d < tensor.desc().shape.size(); ++d) dims.push_back(plan::at(static_cast<int>(d)));
}
Read::Read(TensorHandle operand, std::initializer_list<plan::DimAccess> subscripts)
    : tensor(std::move(operand)), dims(subscripts) {}
Read::~Read() = default;
LoopOperand::LoopOperand(TensorHandle operand, std::string_view its_name)
    : tensor(std::move(operand)), name(its_name) {}
LoopOperand::~LoopOperand() = default;

namespace {

plan::OpBuilder operation(plan::OpClass op_class, const Where& where, std::initializer_list<Over> out,
                          std::initializer_list<Over> over, std::initializer_list<Read> reads) {
  plan::OpBuilder op(op_class, where.name, where.site, where.line);
  for (const Over& label : out) {
    op.out(label.label, label.range);
    if (label.cut == Cut::kWhole) op.uncut();
  }
  for (const Over& label : over)
    label.cut == Cut::kWhole ? op.label(label.label, label.range) : op.reduce(label.label, label.range);
  for (const Read& read : reads) op.read(read.tensor.id(), read.dims);
  return op;
}

}  // namespace

TensorHandle Session::record_map(ElementType type, const Where& where, std::initializer_list<Over> out,
                                 std::initializer_list<Read> reads, double flops, EmittedKernel& kernel) {
  const bool source = reads.size() == 0;
  plan::OpBuilder op = operation(source ? plan::OpClass::kSource : plan::OpClass::kMap, where, out, {}, reads);
  op.flops(flops);
  if (!source) op.divisible().overwrites();
  return record(op, type, kernel.take());
}

TensorHandle Session::record_reduction(ElementType type, const Where& where, std::initializer_list<Over> out,
                                       std::initializer_list<Over> over, plan::Combine combine,
                                       std::initializer_list<Read> reads, double flops, EmittedKernel& kernel) {
  plan::OpBuilder op = operation(plan::OpClass::kReduce, where, out, over, reads);
  op.combine(combine).flops(flops);
  return record(op, type, kernel.take());
}

TensorHandle Session::record_rows(ElementType type, const Where& where, std::initializer_list<Over> out,
                                  std::initializer_list<Over> over, Meeting meeting, std::initializer_list<Read> reads,
                                  RowFlops flops, EmittedKernel& kernel, bool overwrites) {
  plan::OpBuilder op =
      operation(over.size() == 0 ? plan::OpClass::kMap : plan::OpClass::kReduce, where, out, over, reads);
  op.combine(meeting.all).pieces(std::move(meeting.pieces));
  op.flops_per_row(flops.all, flops.of_products, flops.dense);
  if (overwrites) op.overwrites();
  return record(op, type, kernel.take());
}

TensorHandle Session::record_sparse(ElementType type, const Where& where, std::initializer_list<Over> out,
                                    std::initializer_list<Over> over, plan::Combine combine,
                                    std::initializer_list<Read> reads, double flops, EmittedKernel& kernel) {
  const bool reduces = combine != plan::Combine::kNone;
  plan::OpBuilder op = operation(reduces ? plan::OpClass::kReduce : plan::OpClass::kMap, where, out, over, reads);
  op.combine(combine).flops(flops).visits(reads.begin()->tensor.desc());
  return record(op, type, kernel.take());
}

TensorHandle Session::record_piece(ElementType type, const Where& where, const TensorHandle& packed, Index first,
                                   std::initializer_list<Over> out) {
  plan::OpBuilder op = operation(plan::OpClass::kMap, where, out, {}, {});
  std::vector<Index> extents;
  for (const Over& label : out) extents.push_back(label.range.size());
  std::vector<plan::Affine::Term> terms;
  const std::vector<Index> strides = row_major_strides(extents);
  for (std::size_t d = 0; d < strides.size(); ++d) terms.push_back({static_cast<int>(d), strides[d]});
  op.read(packed.id(), {plan::at(std::move(terms), first)}).flops(0).divisible().overwrites();
  return record(op, type, piece_kernel(packed.state().type, type, first, strides));
}

namespace {

/// Operations on floats per product and sum.
double flops_of_product(std::initializer_list<Read> reads) {
  return std::ranges::any_of(reads, [](const Read& read) { return is_complex(read.tensor.state().type); }) ? 8 : 2;
}

}  // namespace

TensorHandle Session::record_product(ElementType type, const Where& where, std::initializer_list<Over> out,
                                     std::initializer_list<Over> over, std::initializer_list<Read> reads) {
  plan::OpBuilder op = operation(plan::OpClass::kContraction, where, out, over, reads);
  op.combine(plan::Combine::kSum).flops(flops_of_product(reads));
  return record(op, type, nullptr);
}

TensorHandle Session::record_product(ElementType type, const Where& where, std::initializer_list<Over> out,
                                     std::initializer_list<Over> over, std::initializer_list<Read> reads,
                                     std::initializer_list<Read> others, EmittedKernel& epilogue) {
  plan::OpBuilder op = operation(plan::OpClass::kContraction, where, out, over, reads);
  for (const Read& read : others) op.read(read.tensor.id(), read.dims);
  op.combine(plan::Combine::kSum).flops(flops_of_product(reads)).epilogue();
  return record_epilogue(op, type, epilogue);
}

TensorHandle Session::record_epilogue(plan::OpBuilder& op, ElementType type, EmittedKernel& epilogue) {
  Kernel map = epilogue.take();
  if (record::drop_empty_sum(op.op())) map = epilogue_of_zeros(type, Epilogue(std::move(map)));
  return record(op, type, std::move(map));
}

TensorHandle Session::record_sum(ElementType type, const Where& where, std::initializer_list<Over> out,
                                 std::initializer_list<Over> over, std::initializer_list<Read> reads,
                                 std::initializer_list<Index> tile) {
  plan::OpBuilder op = operation(plan::OpClass::kReduce, where, out, over, reads);
  op.combine(plan::Combine::kSum).flops(static_cast<double>(reads.size()));
  if (tile.size() > 0) op.tile(tile);
  record::SumOfProducts sum{std::move(op.op()), {}};
  for (const Read& read : reads) sum.names.push_back(read.tensor.state().desc.name);
  const auto one = [&](plan::OpBuilder& part) {
    if (part.op().op_class == plan::OpClass::kContraction) return record(part, type, nullptr);
    return record(part, type, sum_of_products_kernel(part.op(), type));
  };
  return record::record_sum(sum, {impl_->control, one, [](const std::string&) {}});
}

void Session::loop(const LoopWhere& where, std::initializer_list<LoopOperand> reads,
                   std::initializer_list<LoopResult> results, Index flops, EmittedKernel kernel) {
  plan::OpBuilder op(plan::OpClass::kLoop, where.name, where.site, where.line);
  for (const LoopOperand& read : reads) {
    const std::size_t rank = read.tensor.desc().shape.size();
    if (rank > 0) gathers(where.line, where.head, read.name, record::dense_bytes(read.tensor.state()));
    op.read(read.tensor.id(), std::vector(rank, plan::whole()));
  }
  if (where.ordered) op.on_rank(0);
  op.flops(static_cast<double>(flops));
  std::vector<record::LoopOutput> outputs;
  for (const LoopResult& result : results)
    outputs.push_back({std::string(result.name), result.type, result.shape, result.continues});
  impl_->keep(kernel.take());
  std::vector<TensorHandle> tensors = impl_->loop(std::move(op.op()), std::move(outputs));
  auto tensor = tensors.begin();
  for (const LoopResult& result : results) *result.tensor = std::move(*tensor++);
}

TensorHandle Session::record_input(std::string_view text, ElementType type, std::initializer_list<Index> extents,
                                   int site, int line, std::initializer_list<Index> tile) {
  const std::string name(text);
  const std::vector<Index> shape(extents);
  SessionInputs& inputs = impl_->setup.inputs;
  inputs.require_shape(name, shape, impl_->at(line));
  const bool sparse = impl_->setup.info.is_sparse(text);
  if (sparse && !is_legal_size(shape, static_cast<Index>(element_size(type)))) {
    impl_->stop(line, too_large_text(name, element_name(type), shape) +
                          "; it is sparse, but stored dense here, absent elements included, as the compiler has warned "
                          "[dense-storage]");
  }
  impl_->require_size(name, type, shape, line);
  if (sparse) impl_->require_room(name, type, shape, line);
  impl_->keep(
      [&inputs, name, type, sparse](const TaskArgs& args) {  // EngineSink uses a different kernel for files of entries
        const TensorReader* const reader = inputs.dense(name);
        TDSL_CHECK(reader != nullptr, "only dense files are read by the box");
        visit_element_type(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          read_block<T>(*reader, args);
          if (sparse) drop_negative_zeros(args.outputs[0], 0, reinterpret_cast<T*>(args.outputs[0].data));
        });
      });
  return impl_->recorder.load(name, type, shape, std::vector<Index>(tile), {site, line});
}

void Session::code_columns(std::string_view input, const sparse::CodedVisits& visits) {
  impl_->setup.inputs.code_columns(std::string(input), visits);
}

TensorHandle Session::record_stored_input(std::string_view text, ElementType type, std::initializer_list<Index> extents,
                                          int site, int line, std::initializer_list<Index> tile) {
  const std::string name(text);
  const std::vector<Index> shape(extents);
  SessionInputs& inputs = impl_->setup.inputs;
  inputs.require_shape(name, shape, impl_->at(line));
  impl_->require_stored_size(name, type, shape, line);
  impl_->keep(nullptr);  // EngineSink makes the kernel
  return impl_->recorder.load_stored(name, type, shape, inputs.stored(name), inputs.row_counts(name, shape.front()),
                                     std::vector<Index>(tile), {site, line});
}

Tensor<double> Session::sprandom(std::string_view name, std::initializer_list<Index> extents, double density,
                                 std::uint64_t call_site, std::initializer_list<Index> iterations, int site, int line,
                                 std::initializer_list<Index> tile) {
  const std::vector<Index> shape(extents);
  impl_->require_size(name, ElementType::kF64, shape, line);
  impl_->require_room(name, ElementType::kF64, shape, line);
  impl_->keep(
      dense_draw_kernel(random_stream(options().seed, call_site, std::vector<Index>(iterations)), density, shape));
  return Tensor<double>(impl_->recorder.source(name, ElementType::kF64, shape, std::vector<Index>(tile), {site, line}));
}

Tensor<double> Session::stored_sprandom(std::string_view name, std::initializer_list<Index> extents, double density,
                                        std::uint64_t call_site, std::initializer_list<Index> iterations, int site,
                                        int line, std::initializer_list<Index> tile) {
  const std::vector<Index> shape(extents);
  impl_->require_stored_size(name, ElementType::kF64, shape, line);
  impl_->keep(
      stored_draw_kernel(random_stream(options().seed, call_site, std::vector<Index>(iterations)), density, shape));
  return Tensor<double>(impl_->recorder.stored_source(
      name, ElementType::kF64, shape, plan::drawn_stored(shape, density), std::vector<Index>(tile), {site, line}));
}

TensorHandle Session::record_random(RandomKind kind, std::string_view name, ElementType type,
                                    std::initializer_list<Index> extents, std::uint64_t call_site,
                                    std::initializer_list<Index> iterations, int site, int line,
                                    std::initializer_list<Index> tile) {
  const std::vector<Index> shape(extents);
  impl_->require_size(name, type, shape, line);
  const RandomStream stream = random_stream(options().seed, call_site, std::vector<Index>(iterations));
  impl_->keep([kind, type, stream, strides = row_major_strides(shape)](const TaskArgs& args) {
    if (type == ElementType::kF32) {
      fill_random<float>(kind, stream, strides, args);
    } else {
      fill_random<double>(kind, stream, strides, args);
    }
  });
  return impl_->recorder.source(name, type, shape, std::vector<Index>(tile), {site, line});
}

void Session::read_bytes(const TensorHandle& scalar, int site, int line, std::byte* to) {
  EngineSink* const sink = impl_->sink;
  if (sink != nullptr && sink->dry_run()) throw DryRunOver{};
  const ElementType type = scalar.state().type;
  const std::size_t bytes = element_size(type);
  impl_->keep([bytes](const TaskArgs& args) { std::memcpy(args.outputs[0].data, args.inputs[0].data, bytes); });
  const TensorHandle copy = impl_->recorder.control(scalar, {site, line});
  if (impl_->control.read(type, {to, bytes})) return;
  TDSL_CHECK(sink != nullptr, "only a run waits for values");
  sink->check_numbers();
  sink->engine().wait(copy.id());
  std::memcpy(to, sink->engine().block_data(copy.id(), 0), bytes);
  impl_->control.answered({to, bytes});
}

void Session::for_loop(record::Loop loop, Index begin, Index end, Index step, const std::function<void(Index)>& body) {
  impl_->control.for_loop(loop, begin, end, step, body);
}

void Session::while_loop(record::Loop loop, const std::function<bool()>& condition,
                         const std::function<void(Index)>& body) {
  impl_->control.while_loop(loop, condition, body);
}

void Session::if_else(record::Known known, int site, bool condition, const std::function<void()>& then_branch,
                      const std::function<void()>& else_branch) {
  impl_->control.if_else(known, site, condition, then_branch, else_branch);
}

void Session::choose(int site, int variants, const std::function<void(int)>& body) {
  std::vector<std::function<void()>> forms;
  for (int k = 0; k < variants; ++k) forms.emplace_back([&body, k] { body(k); });
  impl_->control.choose(site, forms);
}

void Session::fence(int line) { impl_->control.fence(line); }

}  // namespace tdsl::rt
