#include "runtime/library/library.h"

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/mpi/mpi_caller.h"
#include "runtime/library/arrays.h"
#include "runtime/library/called_run.h"
#include "runtime/library/described_arrays.h"
#include "runtime/library/taped_calls.h"

namespace tdsl::rt {

namespace {

/// Runs that MPI may still access after an error; never freed.
template <class T>
void keep_for_good(std::unique_ptr<T> owned) {
  static std::vector<std::unique_ptr<T>>& kept = *new std::vector<std::unique_ptr<T>>();
  kept.push_back(std::move(owned));
}

/// Bytes of freed blocks that a handle keeps for its next call.
constexpr plan::Index kKeptBetweenCalls = plan::Index{1} << 20;

/// Serialises calls.
std::mutex& call_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

class Library {
 public:
  Library(const ProgramInfo& info, void (*program)(Session&)) : info_(info), program_(program) {}

  void open(const void* communicator, bool of_fortran, std::vector<std::string> options);
  void set_params(const std::vector<std::string>& words);
  void run(std::span<const tdsl_array> inputs, std::span<tdsl_array> outputs);
  const tdsl_array* layout(std::span<const tdsl_array> inputs, const std::string& name);
  void close();
  [[nodiscard]] void* take(int output);
  void fill(int output, const tdsl_sparse& to);
  void stop_when(int (*asked)()) {
    stop_ = nullptr;
    if (asked != nullptr) stop_ = [asked] { return asked() != 0; };
  }

  /// Runs an action, converting exceptions to error codes.
  template <class Action>
  int guarded(const Action& action) {
    if (failed_) {
      message_ = "this handle has failed before: " + failure_;
      return TDSL_REFUSED;
    }
    message_.clear();
    try {
      if (caller_ && !world_) world_ = caller_->make_world();  // the previous run failed
      action();
      return TDSL_GOOD;
    } catch (const RunError& error) { message_ = error.what(); } catch (const std::bad_alloc&) {
      message_ = "out of memory [out-of-memory]";
      running_ = true;
    } catch (const std::exception& error) {
      message_ = std::string("internal error of the runtime, please report it: ") + error.what() + " [internal-error]";
      running_ = true;
    }
    if (!running_) return TDSL_MISUSED;
    fail();
    return TDSL_FAILED;
  }
  int rank(int& ranks) const {
    ranks = ranks_;
    return rank_;
  }
  /// Rejects all further calls.
  void refuse() {
    failed_ = true;
    failure_ = message_;
    if (caller_) caller_->abandon();
  }
  [[nodiscard]] const char* message() const { return message_.c_str(); }

 private:
  void fail();
  void give_results(std::span<tdsl_array> outputs);
  [[nodiscard]] bool repeat(std::span<const tdsl_array> inputs, std::span<tdsl_array> outputs);
  [[nodiscard]] std::shared_ptr<Arrays> described(std::span<const tdsl_array> inputs,
                                                  std::span<const tdsl_array> outputs, bool with_data) const;

  const ProgramInfo& info_;
  const std::function<void(Session&)> program_;
  AppOptions opened_, options_;  ///< options of `open`; with the params of set_params
  std::string params_;           ///< their words
  EarlierRuns earlier_;
  std::unique_ptr<CallerRanks> caller_;
  std::unique_ptr<World> world_;  ///< null after a failed run
  std::unique_ptr<Store> store_ = std::make_unique<Store>();
  TapedCalls taped_;                ///< refer to the world
  std::shared_ptr<Arrays> arrays_;  ///< of the previous run
  std::unique_ptr<CalledRun> run_;
  std::function<bool()> stop_;
  DescribedArray layout_;
  std::vector<DescribedArray> found_;
  int rank_ = 0;
  int ranks_ = 1;
  bool running_ = false;  ///< an error now may leave ranks at different points
  bool failed_ = false;
  std::string message_, failure_;
};

void Library::open(const void* communicator, bool of_fortran, std::vector<std::string> options) {
  caller_ = std::make_unique<CallerRanks>(communicator, of_fortran, prepared_environment());
  world_ = caller_->make_world();
  rank_ = world_->rank();
  ranks_ = world_->size();
  // From here on errors are detected on all ranks alike.
  require_instructions(*world_);
  require_equal_options(*world_, info_, options);
  opened_ = parse_options(info_.declaration(), options, {.inputs_required = false, .params_required = false});
  refuse_options(opened_);
  options_ = opened_;
}

void Library::set_params(const std::vector<std::string>& words) {
  require_equal_options(*world_, info_, words);
  require_params(info_, words);
  const AppOptions given =
      parse_options(info_.declaration(), words, {.inputs_required = false, .params_required = false});
  options_ = opened_;
  for (const auto& [name, value] : given.params) options_.params.insert_or_assign(name, value);
  params_.clear();
  for (const std::string& word : words) params_ += std::to_string(word.size()) + ' ' + word + ' ';
}

/// Called after an error in a run. If all ranks have it, the next call uses new communicators; otherwise ranks may be
/// at different points, and no further calls are possible.
void Library::fail() {
  if (!run_ || !run_->failed_alike()) refuse();
  running_ = false;
  taped_.clear();
  if (world_ == nullptr || world_->give_up()) {
    run_.reset();
    arrays_.reset();
    world_.reset();
  } else {
    keep_for_good(std::move(run_));
    keep_for_good(std::make_unique<std::shared_ptr<Arrays>>(std::move(arrays_)));
    keep_for_good(std::move(world_));
    keep_for_good(std::move(store_));
  }
  store_ = std::make_unique<Store>();
}

std::shared_ptr<Arrays> Library::described(std::span<const tdsl_array> inputs, std::span<const tdsl_array> outputs,
                                           bool with_data) const {
  std::string mistake;
  std::vector<Array> in, out;
  try {
    in = read_arrays(inputs, "input", with_data);
    out = read_arrays(outputs, "output", with_data);
    require_declared(info_, options_, in, out);
    if (with_data) require_apart(in, out);
  } catch (const RunError& error) {
    mistake = error.what();
    in.clear();
    out.clear();
  }
  return std::make_shared<Arrays>(*world_, std::move(in), std::move(out), std::move(mistake));
}

void Library::run(std::span<const tdsl_array> inputs, std::span<tdsl_array> outputs) {
  found_.clear();
  run_.reset();
  if (repeat(inputs, outputs)) return give_results(outputs);
  arrays_ = described(inputs, outputs, true);
  // Files may be others next time, and so may the positions of stored elements.
  const bool repeatable = arrays_->dense_inputs() && inputs.size() == info_.inputs().size();
  earlier_.call = repeatable ? params_ + '\n' + arrays_->heads() : std::string();
  std::unique_ptr<Tape> tape;
  std::unique_ptr<Store> usual;
  if (taped_.wanted(earlier_.call)) {
    tape = std::make_unique<Tape>();
    usual = std::exchange(store_, std::make_unique<Store>());
    store_->keep_all();
    arrays_->copy_all();
  }
  run_ =
      std::make_unique<CalledRun>(*world_, *store_, info_, program_, options_, *arrays_, earlier_, stop_, tape.get());
  try {
    run_->prepare(false);
  } catch (const RunError&) {
    run_.reset();
    if (usual != nullptr) store_ = std::move(usual);
    throw;
  }
  running_ = true;
  run_->compute();
  running_ = false;
  if (tape != nullptr) {
    std::swap(store_, usual);
    taped_.add(earlier_.call, {params_, std::move(usual), arrays_, std::move(tape), std::move(run_)});
  } else {
    taped_.note(earlier_.call, *run_);
  }
  run_.reset();
  store_->end_run(kKeptBetweenCalls);
  give_results(outputs);
}

/// Executes the kernels of an equal earlier call; false: there is none, or one of them has failed.
bool Library::repeat(std::span<const tdsl_array> inputs, std::span<tdsl_array> outputs) {
  const TapedCall* const call = taped_.find(params_, inputs, outputs);
  if (call == nullptr) return false;
  arrays_ = call->arrays;
  if (call->repeat(inputs, outputs)) return true;
  arrays_.reset();
  taped_.forget(call);
  return false;
}

void Library::give_results(std::span<tdsl_array> outputs) {
  const std::vector<Array>& results = arrays_->outputs();
  found_.reserve(results.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k].sparse) {
      give_counts(results[k], *arrays_->entries(k), outputs[k]);
    } else if (results[k].ours) {
      found_.emplace_back(outputs[k].name, results[k].type, results[k].shape, results[k].boxes).give(outputs[k]);
    }
  }
}

void Library::fill(int output, const tdsl_sparse& to) {
  const auto number = static_cast<std::size_t>(output);
  if (!arrays_ || output < 0 || arrays_->entries(number) == nullptr)
    throw RunError(
        "output " + std::to_string(output) + " of the last run is no sparse matrix, or has been given [wrong-array]",
        ExitCode::kUsage);
  arrays_->fill(number, to);
}

void* Library::take(int output) {
  const bool known = arrays_ && output >= 0 && static_cast<std::size_t>(output) < arrays_->outputs().size();
  return known ? arrays_->take_memory(static_cast<std::size_t>(output)).release() : nullptr;
}

const tdsl_array* Library::layout(std::span<const tdsl_array> inputs, const std::string& name) {
  const std::vector<tdsl_array> outputs = all_outputs(info_);
  const std::shared_ptr<Arrays> arrays = described(inputs, outputs, false);
  earlier_.call.clear();
  CalledRun dry(*world_, *store_, info_, program_, options_, *arrays, earlier_, stop_, nullptr);
  dry.prepare(true);
  dry.compute();
  const Arrays::Placed* const placed = arrays->placed(name);
  if (placed == nullptr)
    throw RunError("the program has no input or output `" + name +
                       "`, or does not use it before it needs computed values [wrong-array]",
                   ExitCode::kUsage);
  std::vector<Operand> boxes;
  for (const Box& box : placed->boxes) boxes.push_back({nullptr, box, {}, {}});
  layout_ = DescribedArray(name, placed->type, placed->shape, boxes);
  return &layout_.array();
}

void Library::close() {
  run_.reset();
  arrays_.reset();
  taped_.clear();
  if (world_ && world_->has_mpi() && mpi_is_over()) {
    keep_for_good(std::move(world_));
    return;
  }
  world_.reset();
}

int open_library(const ProgramInfo& (*info)(), void (*program)(Session&), const void* communicator, bool of_fortran,
                 const char* const* options, int option_count, Library** handle) {
  const std::scoped_lock lock(call_mutex());
  *handle = new (std::nothrow) Library(info(), program);
  if (*handle == nullptr) return TDSL_FAILED;
  Library& library = **handle;
  const int code = library.guarded([&] { library.open(communicator, of_fortran, {options, options + option_count}); });
  if (code != TDSL_GOOD) library.refuse();
  return code;
}

int set_library_params(Library* handle, const char* const* options, int option_count) {
  const std::scoped_lock lock(call_mutex());
  return handle->guarded([&] { handle->set_params({options, options + option_count}); });
}

int library_layout(Library* handle, const tdsl_array* inputs, int input_count, const char* name,
                   const tdsl_array** layout) {
  const std::scoped_lock lock(call_mutex());
  *layout = nullptr;
  return handle->guarded([&] { *layout = handle->layout({inputs, static_cast<std::size_t>(input_count)}, name); });
}

int run_library(Library* handle, const tdsl_array* inputs, int input_count, tdsl_array* outputs, int output_count) {
  const std::scoped_lock lock(call_mutex());
  return handle->guarded([&] {
    handle->run({inputs, static_cast<std::size_t>(input_count)}, {outputs, static_cast<std::size_t>(output_count)});
  });
}

int stop_library_when(Library* handle, int (*asked)()) {
  const std::scoped_lock lock(call_mutex());
  handle->stop_when(asked);
  return TDSL_GOOD;
}

int fill_from_library(Library* handle, int output, const tdsl_sparse* to) {
  const std::scoped_lock lock(call_mutex());
  return handle->guarded([&] { handle->fill(output, *to); });
}

void* take_from_library(Library* handle, int output) {
  const std::scoped_lock lock(call_mutex());
  return handle->take(output);
}

int rank_in_library(const Library* handle, int* ranks) { return handle->rank(*ranks); }

const char* library_message(const Library* handle) {
  return handle == nullptr ? "out of memory [out-of-memory]" : handle->message();
}

int close_library(Library* handle) {
  if (handle == nullptr) return TDSL_GOOD;
  const std::scoped_lock lock(call_mutex());
  handle->close();
  delete handle;
  return TDSL_GOOD;
}

}  // namespace tdsl::rt
