#include "runtime/app/session/engine_sink.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "runtime/app/run/fitting_start.h"
#include "runtime/app/run/run_program_signals.h"
#include "runtime/app/session/session_impl.h"
#include "runtime/app/session/stored_tiles.h"
#include "runtime/app/session/tile_entries.h"
#include "runtime/app/session/together.h"
#include "runtime/app/session/written_tiles.h"
#include "runtime/base/number_format.h"
#include "runtime/engine/store/shared_windows.h"
#include "runtime/io/file_kind.h"
#include "runtime/kernels/assembled.h"
#include "runtime/kernels/combine.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/product/contraction.h"
#include "runtime/kernels/stored.h"
#include "runtime/library/arrays.h"
#include "runtime/sparse/elements.h"

namespace tdsl::rt {

EngineSink::EngineSink(const RunSetup& setup)
    : PlanningSink(setup.plan_inputs),
      setup_(setup),
      engine_(setup.world, setup.store, lookup(), setup.engine_options) {}

void EngineSink::enable_predictions(bool baseline) {
  const int rank = setup_.world.rank();
  const SharedWindows* const windows = setup_.store.windows();
  predictions_.enable(rank, windows != nullptr ? windows->rule() : plan::InPlace());
  if (!baseline) return;
  baseline_cost_.emplace();
  baseline_.emplace(setup_.plan_inputs, [this, rank](const plan::PlannedOp& op, const plan::TensorLookup& lookup,
                                                     const plan::PlanInputs& inputs) {
    const plan::Cost cost = plan::cost_of(op.op, op.plan, lookup, rank, inputs.machine, inputs.threads);
    baseline_cost_->bytes_received += cost.bytes_received;
    baseline_cost_->tasks += cost.tasks;
    baseline_cost_->seconds += cost.seconds;
  });
}

void EngineSink::expect(const plan::Region& region) {
  for (const plan::RegionOp& op : region.ops) surveyed_.insert(op.op.site);
}

void EngineSink::put_by(plan::Segment segment) {
  for (plan::Op& op : segment.ops) {
    if (op.is_source()) {
      const plan::TensorId made = op.outputs.front().id;
      replayed_->sources.emplace(made, std::move(op));
    } else if (op.op_class == plan::OpClass::kStore && kernels_.contains(op.record)) {  // not a record of a series
      replayed_->stores.push_back(std::move(op));
    } else {
      kernels_.erase(op.record);
    }
  }
  for (const plan::TensorId id : segment.dropped) {
    const auto source = replayed_->sources.find(id);
    if (source == replayed_->sources.end()) continue;
    kernels_.erase(source->second.record);
    replayed_->sources.erase(source);
  }
}

void EngineSink::segment(plan::Segment segment) {
  if (replayed_) return put_by(std::move(segment));
  if (!surveyed_.empty()) {
    unsurveyed_ += std::ranges::count_if(
        segment.ops, [this](const plan::Op& op) { return op.site != 0 && !surveyed_.contains(op.site); });
  }
  if (repeat(segment)) return;
  if (baseline_) baseline_->segment(segment);
  PlanningSink::segment(std::move(segment));
}

/// Records the time spent in the planner since the last segment as an event that ends now.
void EngineSink::trace_planning() {
  const double spent = planning_seconds() - std::exchange(traced_planning_, planning_seconds());
  if (thread_trace == nullptr) return;
  const double now = setup_.world.now();
  thread_trace->add({TraceKind::kPlan, setup_.engine_options.trace->at(now - spent), spent});
}

void EngineSink::planned(const plan::PlannedSegment& segment) {
  trace_planning();
  check_window();
  check_memory();
  const plan::TensorLookup tensors = lookup();
  for (const plan::TensorId id : segment.ended) predictions_.free(id);
  for (std::size_t k = 0; k < segment.ops.size(); ++k)
    predictions_.add(*segment.ops[k], tensors, planner().inputs(), segment.last_names[k]);
  for (const plan::Op& source : segment.unused) kernels_.erase(source.record);
  if (dry_run()) {
    note_places(segment);
    return;
  }
  foresee(segment);
  for (const plan::TensorId id : segment.ended) engine_.release(id);
  for (std::size_t k = 0; k < segment.ops.size(); ++k) submit(segment.ops[k], segment.last_names[k]);
  for (const std::vector<plan::TensorId>& list : segment.last_names) {
    for (const plan::TensorId id : list) parts_.erase(id);
  }
  keep_planned(segment);
}

/// Passes this rank's predicted seconds to progress and long-loop reporting.
void EngineSink::foresee(const plan::PlannedSegment& segment) {
  const plan::TensorLookup tensors = lookup();
  const auto seconds = [&](const plan::PlannedOp& op) {
    if (op.op.op_class == plan::OpClass::kSave || op.op.op_class == plan::OpClass::kRestore)
      return 0.0;  // not part of the program
    return plan::cost_of(op.op, op.plan, tensors, setup_.world.rank(), setup_.plan_inputs.machine,
                         setup_.plan_inputs.threads)
        .seconds.hi;
  };
  for (const auto& op : segment.ops) {
    if (progress_ != nullptr) progress_->submitted(seconds(*op));
    if (!long_loop_ || op->op.op_class != plan::OpClass::kLoop || long_sites_.contains(op->op.site)) continue;
    plan::Coord first;  // a loop runs on one rank, not necessarily this one
    first.rank = op->plan.space.rank();
    const plan::Cost cost = plan::cost_of(op->op, op->plan, tensors, op->plan.space.owner(first),
                                          setup_.plan_inputs.machine, setup_.plan_inputs.threads);
    if (cost.seconds.hi <= long_seconds_) continue;
    long_sites_.insert(op->op.site);
    long_loop_(op->op, cost.seconds.hi);
  }
}

namespace {

/// An emitted kernel knows only the dimensions of the recorded output. Tiles of partial results have extra part
/// dimensions of extent one, which are hidden from the kernel.
Kernel without_parts(const plan::Op& op, Kernel kernel) {
  int parts = 0;
  for (const plan::OutSubscript& subscript : op.out) parts += subscript.label == plan::kPartLabel ? 1 : 0;
  if (parts == 0) return kernel;
  return [parts, kernel = std::move(kernel)](const TaskArgs& args) {
    const auto drop = [parts](Box& box) {
      box.rank -= parts;
      std::copy(box.dim.begin() + parts, box.dim.end(), box.dim.begin());
    };
    std::vector<Operand> outputs(args.outputs.begin(), args.outputs.end());
    for (Operand& output : outputs) {
      drop(output.box);
      std::copy(output.stride.begin() + parts, output.stride.end(), output.stride.begin());
    }
    TaskArgs inner = args;
    inner.outputs = outputs;
    inner.partial = true;
    drop(inner.out_box);
    kernel(inner);
  };
}

}  // namespace

/// Loads a file of entries, or a tensor in compressed blocks.
Kernel EngineSink::load_kernel(const plan::PlannedOp& planned) {
  const plan::Op& op = planned.op;
  const plan::TensorDesc& output = op.outputs.front();
  const std::optional<sparse::CodedVisits> coded = setup_.inputs.coded_visits(op.name);
  if (const TensorReader* const reader = setup_.inputs.dense(op.name))
    return stored_panels_kernel(*reader, *element_type_named(output.element.name), coded);
  auto entries =
      std::make_shared<const TileEntries>(engine_, setup_.world.rank(), plan::distribution_of(op, planned.plan, output),
                                          setup_.inputs.take_entries(op.name));
  return output.sized() ? stored_tile_kernel(std::move(entries), coded) : dense_tile_kernel(std::move(entries));
}

Kernel EngineSink::take_kernel(Index record) {
  const auto recorded = kernels_.find(record);
  TDSL_CHECK(recorded != kernels_.end(), "a planned operation was recorded");
  Kernel kernel = std::move(recorded->second);
  kernels_.erase(recorded);
  return kernel;
}

/// The kernel of an operation with the recorded one: a product's epilogue, or what its tasks call.
Kernel EngineSink::bound_kernel(const std::shared_ptr<const plan::Op>& op, Kernel recorded) {
  if (op->op_class != plan::OpClass::kContraction) return without_parts(*op, std::move(recorded));
  return contraction_kernel(op, *element_type_named(op->outputs.front().element.name), Epilogue(std::move(recorded)));
}

void EngineSink::submit(const std::shared_ptr<const plan::PlannedOp>& planned,
                        const std::vector<plan::TensorId>& last_names) {
  const plan::Op& op = planned->op;
  // The kernel keeps the planned operation alive.
  const std::shared_ptr<const plan::Op> description(planned, &op);
  const auto type = [&op] { return *element_type_named(op.outputs.front().element.name); };
  if (planned->part == 1) {
    const Parts& parts = parts_.at(op.reads.front().tensor);
    Kernel combination =
        op.moves ? moved_kernel(type())
        : op.outputs.front().sized()
            ? assembled_kernel(parts.combine, type())
            : followed_by(combine_kernel(description, parts.combine, type(), parts.pieces), parts.epilogue);
    engine_.submit(planned, std::move(combination), last_names);
    return;
  }
  if (planned->part == 2) {
    const plan::TensorDesc& copy = op.outputs.front();
    engine_.submit(planned, copy.sized() ? block_copy_kernel() : copy_kernel(copy.element.bytes), last_names);
    return;
  }
  Kernel kernel = take_kernel(op.record);
  const bool parts = !op.outputs.empty() && plan::is_part(op.outputs.front().id);
  if (parts) {
    Epilogue epilogue(op.op_class == plan::OpClass::kContraction ? std::exchange(kernel, nullptr) : nullptr);
    parts_.emplace(op.outputs.front().id, Parts{op.combine, op.pieces, std::move(epilogue)});
  }
  if (op.op_class == plan::OpClass::kLoad && (op.outputs.front().sized() || setup_.inputs.dense(op.name) == nullptr)) {
    kernel = load_kernel(*planned);
  } else {
    kernel = bound_kernel(description, std::move(kernel));
  }
  Engine::Lend lend;
  const bool dense_array = op.op_class == plan::OpClass::kLoad && setup_.arrays != nullptr &&
                           setup_.arrays->has_input(op.name) && setup_.inputs.dense(op.name) != nullptr;
  if (dense_array) {
    setup_.arrays->fetch(engine_, op.name, plan::distribution_of(op, planned->plan, op.outputs.front()));
    // Kernels of sparse inputs write to their blocks, so these cannot borrow memory.
    if (!setup_.info.is_sparse(op.name)) lend = setup_.arrays->lender(setup_.store, op.name);
  }
  engine_.submit(planned, std::move(kernel), last_names, std::move(lend));
}

/// In a dry run: notes preferred array locations for the caller.
void EngineSink::note_places(const plan::PlannedSegment& segment) const {
  if (setup_.arrays == nullptr) return;
  for (const auto& planned : segment.ops) {
    const plan::Op& op = planned->op;
    if (planned->part != 0) continue;
    if (op.op_class == plan::OpClass::kLoad) {
      setup_.arrays->note(op.name, *element_type_named(op.outputs.front().element.name),
                          plan::distribution_of(op, planned->plan, op.outputs.front()));
    } else if (op.op_class == plan::OpClass::kStore) {
      const plan::PlacedTensor& value = lookup()(op.reads.front().tensor);
      setup_.arrays->note(op.name, *element_type_named(value.desc.element.name), value.distribution);
    }
  }
}

void EngineSink::check_window() const {
  const plan::Index window = setup_.plan_inputs.window;
  const plan::Index largest = planner().largest_step();
  if (window == 0 || largest <= window) return;
  throw RunError(too_small_window(largest, window, setup_.options.window_text) + " [out-of-memory]", ExitCode::kUsage);
}

void EngineSink::check_memory() const {
  const plan::Index memory = setup_.options.memory_bytes.value_or(0);
  const plan::MemoryNeed& need = planner().needed_memory();
  if (memory == 0 || need.bytes <= memory) return;
  // If the program is planned in parts, this part may follow others that have run, and may need less memory than the
  // next.
  const bool runs = engine_.operations().submitted > 0;
  throw RunError(setup_.info.at(need.line),
                 too_little_memory(need, memory, setup_.options.memory_text) +
                     (runs ? "; what follows may need more" : "") + " [out-of-memory]",
                 runs ? ExitCode::kRunTime : ExitCode::kUsage);
}

namespace {

/// The action's errors name the line.
template <class Action>
auto at_line(SourceLine line, const Action& action) -> decltype(action()) {
  try {
    return action();
  } catch (const RunError& error) { throw RunError(line, error.what(), error.code()); }
}

/// The kernel that writes tiles of an output.
template <class Writer>
Kernel writing_kernel(Writer writer, ElementType type, SourceLine line) {
  return [writer = std::move(writer), type, line](const TaskArgs& args) {
    at_line(line, [&] {
      visit_element_type(type, [&](auto tag) { write_tile<typename decltype(tag)::type>(*writer, args); });
    });
  };
}

/// The kernel that writes tiles of a record.
Kernel record_kernel(const Series& series, Index record) {
  return writing_kernel(std::make_shared<const RecordPart>(RecordPart{series.file(), record}), series.layout().type,
                        series.place());
}

}  // namespace

/// Rank 0 creates an object that the others open by its token. Null in a dry run.
template <class Create, class Open>
auto EngineSink::open_together(int line, const Create& create, const Open& open) -> decltype(create()) {
  decltype(create()) writer;
  if (setup_.world.rank() == 0) writer = at_line(setup_.info.at(line), create);
  if (dry_run()) return nullptr;  // the writer's destructor removes the file
  const std::string token = engine_.share(writer ? writer->token() : std::string());
  return writer ? std::move(writer) : open(token);
}

Kernel EngineSink::open_array(std::string_view name, const record::TensorState& value, int line) {
  if (dry_run()) return nullptr;
  const std::string output(name);
  const SourceLine place = setup_.info.at(line);
  std::shared_ptr<TensorWriter> writer;
  std::shared_ptr<EntryOutput> entries;
  at_line(place, [&] {
    entries = setup_.arrays->entry_output(output, value.type, value.desc.shape);
    if (!entries) writer = setup_.arrays->writer(output, value.type, value.desc.shape);
  });
  if (entries) {
    entry_outputs_.push_back(entries);
    return [entries](const TaskArgs& args) { entries->collect(args); };
  }
  if (!writer) return nullptr;
  return writing_kernel(std::move(writer), value.type, place);
}

Kernel EngineSink::open_file(const std::string& path, const record::TensorState& value, record::Place place) {
  const ElementType type = value.type;
  const std::vector<Index>& shape = value.desc.shape;
  if (holds_entries(path)) {
    std::unique_ptr<EntryWriter> writer = open_together(
        place.line, [&] { return EntryWriter::create(path, type, shape, setup_.unfinished); },
        [](const std::string& token) { return EntryWriter::open(token); });
    if (!writer) return nullptr;
    const auto output = std::make_shared<EntryFileOutput>(std::move(writer));
    entry_files_.push_back(output);
    entry_outputs_.push_back(output);
    return [output](const TaskArgs& args) { output->collect(args); };
  }
  std::shared_ptr<TensorWriter> writer = open_together(
      place.line, [&] { return create_tensor(path, type, shape, setup_.unfinished); },
      [](const std::string& token) { return open_tensor(token); });
  if (!writer) return nullptr;
  files_.push_back({writer, place.site});
  return writing_kernel(std::move(writer), type, setup_.info.at(place.line));
}

std::shared_ptr<Series> EngineSink::open_series(std::string name, const std::string* path, SeriesLayout layout,
                                                const checkpoint::SavedSeries* saved, int line) {
  std::shared_ptr<RecordFile> file;
  if (path != nullptr && !dry_run()) {
    layout.path = *path;
    file = open_together(
        line, [&] { return saved != nullptr ? resume_records(layout, saved->records) : begin_records(layout); },
        [](const std::string& token) { return open_records(token); });
  }
  auto series =
      std::make_shared<Series>(std::move(name), setup_.info.at(line), std::move(layout), std::move(file), saved);
  setup_.series->add(series);
  return series;
}

Kernel EngineSink::append_kernel(const std::shared_ptr<Series>& series, Index record, Index operation) {
  if (dry_run()) return nullptr;
  if (RecordFile& file = *series->file(); file.needs_room(record)) {
    const bool makes = setup_.world.rank() == 0;
    const std::string room =
        engine_.share(makes ? at_line(series->place(), [&] { return file.make_room(record); }) : "");
    if (!makes) file.take_room(room);
  }
  if (setup_.world.rank() == 0) {
    Index elements = 1;
    for (const Index extent : series->layout().record) elements *= extent;
    engine_.expect_notes(operation, elements,
                         [series, record] { at_line(series->place(), [&] { series->complete(record); }); });
  }
  return [this, operation, write = record_kernel(*series, record)](const TaskArgs& args) {
    write(args);
    engine_.note(operation, args.inputs[0].box.volume());
  };
}

Kernel EngineSink::line_kernel(const std::shared_ptr<Series>& series, Index record) const {
  if (dry_run()) return nullptr;
  return [series, record, write = record_kernel(*series, record)](const TaskArgs& args) {
    write(args);
    at_line(series->place(), [&] { series->complete(record); });
  };
}

void EngineSink::show_series() const {
  if (dry_run() || setup_.world.rank() != 0) return;
  for (const std::shared_ptr<Series>& series : setup_.series->all()) {
    if (series->layout().path.empty()) write_text(series->summary() + "\n");
  }
}

void EngineSink::write_entries() {
  Together together(setup_.world);
  const int rank = setup_.world.rank();
  for (const auto& output : entry_files_) {
    const std::vector<EntryWriter::Numbers> first = setup_.world.access()->all_gather_values<Index>(output->first());
    together.attempt([&] { output->write(first, rank); });
    together.agree();
    const std::vector<EntryWriter::Numbers> second = setup_.world.access()->all_gather_values<Index>(output->second());
    if (rank == 0) together.attempt([&] { output->writer().finish(second); });
    together.agree();
  }
}

void EngineSink::commit_outputs() {
  write_entries();
  const std::vector<std::shared_ptr<Series>> series = setup_.series->all();
  if (files_.empty() && entry_files_.empty() && series.empty()) return;
  Together together(setup_.world);
  const int rank = setup_.world.rank();
  for (const auto& s : series) {
    if (s->file() == nullptr) continue;
    if (rank == 0) together.attempt([&] { at_line(s->place(), [&] { s->file()->finish(); }); });
    together.attempt([&] { at_line(s->place(), [&] { s->file()->sync(); }); });
  }
  for (const Output& file : files_) together.attempt([&] { file.writer->sync(); });
  for (const auto& output : entry_files_) together.attempt([&] { output->writer().file().sync(); });
  together.agree();
  announce_outputs();
  for (const Output& file : files_) {
    if (rank == 0) together.attempt([&] { file.writer->commit(); });
  }
  for (const auto& output : entry_files_) {
    if (rank == 0) together.attempt([&] { output->writer().file().commit(); });
  }
  together.agree();
  if (rank == 0) return;
  for (const Output& file : files_) file.writer->release();
  for (const auto& output : entry_files_) output->writer().file().release();
}

std::map<int, WriteCount> EngineSink::writes() const {
  std::map<int, WriteCount> all;
  for (const Output& file : files_) {
    const WriteCount count = file.writer->written();
    all[file.site].calls += count.calls;
    all[file.site].bytes += count.bytes;
  }
  for (const std::shared_ptr<Series>& series : setup_.series->all()) {
    if (series->file() == nullptr || series->site() == 0) continue;
    const WriteCount count = series->file()->written();
    all[series->site()].calls += count.calls;
    all[series->site()].bytes += count.bytes;
  }
  return all;
}

void EngineSink::check_numbers() {
  if (setup_.numbers == nullptr || dry_run()) return;
  complete();
  const auto finding = setup_.numbers->first(engine_, setup_.world.size());
  if (finding)
    throw ProgramError(setup_.info.at(finding->line),
                       finding->text(lines_text(setup_.info, setup_.info.inner_places(finding->line))) + " [check]");
}

void EngineSink::complete() {
  if (!dry_run()) engine_.finish();
}

void EngineSink::finish() {
  complete();
  if (dry_run()) return;
  if (setup_.arrays != nullptr) setup_.arrays->deliver(engine_);
  for (const auto& output : entry_outputs_) output->gather(engine_, setup_.world.rank(), setup_.world.size());
  // Ranks that finish early wait for those still sorting: all ranks stay in the engine, which exchanges signs of life,
  // until all can leave.
  if (!entry_outputs_.empty()) complete();
  TDSL_CHECK(engine_.live_blocks() == 0, std::to_string(engine_.live_blocks()) + " blocks are left at the end");
  TDSL_CHECK(setup_.store.live_buffers() == 0,
             std::to_string(setup_.store.live_buffers()) + " buffers are left at the end");
}

}  // namespace tdsl::rt
