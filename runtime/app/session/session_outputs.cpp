#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "runtime/app/session/session_impl.h"
#include "runtime/base/number_format.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/series/record_file.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/stored.h"
#include "runtime/library/arrays.h"
#include "runtime/message_id.h"
#include "runtime/sparse/elements.h"

namespace tdsl::rt {

namespace {

/// `[[1.0 2.0] [3.0 4.0]]` on one line, with the middle of a large tensor elided.
template <class T>
void append_elements(const std::vector<std::vector<Index>>& indices, std::size_t dimension, const T*& elements,
                     std::string& text) {
  if (dimension == indices.size()) {
    text += format_scalar(*elements++);
    return;
  }
  text += '[';
  const std::vector<Index>& along = indices[dimension];
  for (std::size_t x = 0; x < along.size(); ++x) {
    if (x > 0) text += along[x] == along[x - 1] + 1 ? " " : " ... ";
    append_elements(indices, dimension + 1, elements, text);
  }
  text += ']';
}

/// The few shown elements of an operand in compressed blocks.
template <class T>
std::unique_ptr<T[]> looked_up(const TaskArgs& args, std::size_t input) {
  const Box& box = args.inputs[input].box;
  auto elements = std::make_unique<T[]>(static_cast<std::size_t>(box.volume()));
  const sparse::Elements<T> stored(stored_parts(args, static_cast<int>(input)));
  std::array<Index, plan::kMaxRank> at{};
  for (int d = 0; d < box.rank; ++d) at[plan::idx(d)] = box[d].lo;
  const std::span<const Index> here = std::span(at).first(plan::idx(box.rank));
  for (T* next = elements.get(); next != elements.get() + box.volume(); ++next) {
    *next = stored.locate(here);
    for (int d = box.rank - 1; d >= 0 && ++at[plan::idx(d)] == box[d].hi; --d) at[plan::idx(d)] = box[d].lo;
  }
  return elements;
}

/// The shown elements in C order, from the operation's inputs; `input` is the number of the first corner.
template <class T>
std::unique_ptr<T[]> gather(const record::SummaryCorners& corners, std::size_t input, const TaskArgs& args) {
  const std::vector<std::vector<Interval>>& runs = corners.runs();
  auto elements = std::make_unique<T[]>(static_cast<std::size_t>(corners.count()));
  Box all;
  all.rank = static_cast<int>(runs.size());
  for (std::size_t d = 0; d < runs.size(); ++d) {
    for (const Interval& run : runs[d]) all.dim[d].hi += run.size();
  }
  const Operand whole = row_major(reinterpret_cast<std::byte*>(elements.get()), all);
  corners.for_each([&](const std::vector<std::size_t>& choice) {
    Operand from = args.inputs[input++];
    Operand to = whole;
    to.box = from.box;
    for (std::size_t d = 0; d < choice.size(); ++d) {
      Index before = 0;
      for (std::size_t r = 0; r < choice[d]; ++r) before += runs[d][r].size();
      to.data += before * whole.stride[d] * static_cast<Index>(sizeof(T));
    }
    std::unique_ptr<T[]> corner;  // for compressed blocks
    if (from.data == nullptr) {
      corner = looked_up<T>(args, input - 1);
      from = row_major(reinterpret_cast<std::byte*>(corner.get()), from.box);
    }
    copy_box(from, to, from.box, sizeof(T));
  });
  return elements;
}

/// A printed tensor, or text.
struct PrintedItem {
  std::string text;
  bool computed = false;
  ElementType type = ElementType::kF64;
  std::vector<Index> shape;
  record::SummaryCorners corners;
  std::size_t first_input = 0;
};

std::string item_text(const PrintedItem& item, const TaskArgs& args) {
  if (!item.computed) return item.text;
  return visit_element_type(item.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::unique_ptr<T[]> elements = gather<T>(item.corners, item.first_input, args);
    const T* next = elements.get();
    std::string text;
    append_elements(summary_indices(item.shape), 0, next, text);
    return text;
  });
}

}  // namespace

void write_text(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  throw RunError(std::string("cannot write to standard output: ") + std::strerror(errno) + " [cannot-write]");
}

namespace {

/// Calls `take` with the summary of the value.
Kernel summary_kernel(std::string_view name, const record::TensorState& value,
                      std::function<void(std::string text)> take) {
  return [corners = record::SummaryCorners(value.desc.shape), name = std::string(name), type = value.type,
          shape = value.desc.shape, take = std::move(take)](const TaskArgs& args) {
    visit_element_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::unique_ptr<T[]> elements = gather<T>(corners, 0, args);
      take(format_summary<T>(name, shape,
                             std::span<const T>(elements.get(), static_cast<std::size_t>(corners.count()))));
    });
  };
}

}  // namespace

void Session::output(std::string_view name, TensorHandle value, int site, int line) {
  const auto file = impl_->setup.options.outputs.find(std::string(name));
  const record::TensorState* const state = &value.state();
  impl_->draw(name, value, {site, line});
  if (impl_->setup.arrays != nullptr && file == impl_->setup.options.outputs.end()) {
    if (!impl_->setup.arrays->wants(std::string(name))) return;
    if (impl_->sink != nullptr) impl_->keep(impl_->sink->open_array(name, *state, line));
    impl_->recorder.store(name, value, {site, line});
    return;
  }
  if (file == impl_->setup.options.outputs.end()) {
    impl_->keep(summary_kernel(name, *state, [](const std::string& text) { write_text(text + "\n"); }));
    impl_->recorder.collect(name, {&state, 1}, {site, line});
    return;
  }
  if (impl_->sink != nullptr) { impl_->keep(impl_->sink->open_file(file->second, *state, {site, line})); }
  impl_->recorder.store(name, value, {site, line}, lies_in_rows(file->second));
  if (impl_->checkpoints != nullptr) impl_->written.push_back(std::move(value));
}

void Session::begin_series(std::string_view name, TensorHandle none, int /*site*/, int line) {
  if (impl_->sink == nullptr) return;
  const std::string output(name);
  const auto file = impl_->setup.options.outputs.find(output);
  const std::string* const path = file == impl_->setup.options.outputs.end() ? nullptr : &file->second;
  if (impl_->setup.arrays != nullptr && path == nullptr) {
    if (impl_->sink->dry_run() || !impl_->setup.arrays->wants(output)) return;
    impl_->stop(line, "the series `" + output + "` can be written to a file, not to an array [wrong-array]");
  }
  const checkpoint::SavedSeries* saved = nullptr;
  if (impl_->sink->replays()) {
    saved = impl_->checkpoints->resumed()->find_series(name);
    TDSL_CHECK(saved != nullptr, "a checkpoint has the series that had begun: " + output);
  }
  const record::TensorState& state = none.state();
  SeriesLayout layout{{}, state.type, {state.desc.shape.begin() + 1, state.desc.shape.end()}};
  static_cast<void>(impl_->sink->open_series(output, path, std::move(layout), saved, line));
}

void Session::append(std::string_view name, TensorHandle value, Index record, int site, int line) {
  const auto file = impl_->setup.options.outputs.find(std::string(name));
  const bool shown = file == impl_->setup.options.outputs.end();
  if (shown && impl_->setup.arrays != nullptr) return;
  const bool whole = !shown && takes_whole_records(file->second);
  const record::TensorState* const state = &value.state();
  // A replay records the operation, which the earlier run has executed, without a kernel.
  if (impl_->sink != nullptr && !impl_->sink->replays()) {
    const std::shared_ptr<Series> series = impl_->sink->series().find(name);
    series->appends(site);
    if (shown) {
      impl_->keep(
          summary_kernel(name, *state, [series, record](std::string text) { series->show(record, std::move(text)); }));
    } else {
      impl_->keep(whole ? impl_->sink->line_kernel(series, record)
                        : impl_->sink->append_kernel(series, record, impl_->recorder.next_record()));
    }
  }
  if (shown) return impl_->recorder.collect(name, {&state, 1}, {site, line});
  if (whole) return impl_->recorder.gather(name, value, {site, line});
  impl_->recorder.store(name, value, {site, line}, state->desc.bytes() <= most_record_in_rows(file->second));
}

void Session::print(std::initializer_list<PrintItem> items, int site, int line) {
  std::vector<PrintedItem> printed;
  std::vector<const record::TensorState*> tensors;
  std::size_t inputs = 0;
  for (const PrintItem& item : items) {
    PrintedItem& shown = printed.emplace_back();
    shown.text = item.text();
    const record::TensorState* tensor = item.tensor();
    if (tensor == nullptr) continue;
    tensors.push_back(tensor);
    shown = {{}, true, tensor->type, tensor->desc.shape, record::SummaryCorners(tensor->desc.shape), inputs};
    inputs += shown.corners.accesses().size();
  }
  impl_->keep([printed = std::move(printed)](const TaskArgs& args) {
    std::string text;
    for (const PrintedItem& item : printed) {
      if (&item != &printed.front()) text += ' ';
      text += item_text(item, args);
    }
    write_text(text + "\n");
  });
  impl_->recorder.collect("print", tensors, {site, line});
}

void Session::check(int line, const Tensor<bool>& condition, std::string_view message, int site) {
  impl_->keep([place = impl_->at(line), text = with_id(std::string(message), "assertion")](const TaskArgs& args) {
    if (!*reinterpret_cast<const bool*>(args.inputs[0].data)) throw RunError(place, text);
  });
  const record::TensorState* const state = &condition.state();
  impl_->recorder.collect("assert", {&state, 1}, {site, line});
}

}  // namespace tdsl::rt
