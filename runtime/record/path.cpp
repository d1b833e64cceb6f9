#include "runtime/record/path.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/check.h"
#include "runtime/exact.h"

namespace tdsl::record {

bool Path::records(plan::TensorId tensor) const {
  for (std::size_t d = 0; d + 1 < frames.size(); ++d) {
    if (tensor < frames[d].top.tensor || tensor >= frames[d + 1].begin.tensor) continue;
    return std::ranges::none_of(frames[d].events, [tensor](const PathEvent& e) {
      return e.is_loop && tensor >= e.begin.tensor && tensor < e.end.tensor;
    });
  }
  return false;
}

void PathControl::follow(PathWatcher& watcher) {
  watcher_ = &watcher;
  recorder_.follow_names();
}

void PathControl::replay(Path path) {
  TDSL_CHECK(watcher_ != nullptr && path.frames.size() > 1, "a path ends at a boundary");
  path_ = std::move(path);
  replays_ = true;
}

void PathControl::for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) {
  if (watcher_ == nullptr || !loop.has_boundaries) return RunControl::for_loop(loop, begin, end, step, body);
  run(loop, begin, [&](Index& i) {
    if (!(step > 0 ? i < end : i > end)) return false;
    expect_iterations(loop, iterations_left(i, end, step));
    iterate(loop, [&] { body(i); });
    i = rt::advanced(i, step);
    return true;
  });
}

void PathControl::while_loop(Loop loop, const Condition& condition, const Body& body) {
  if (watcher_ == nullptr || !loop.has_boundaries) return RunControl::while_loop(loop, condition, body);
  run(loop, 0, [&](Index& iteration) {
    if (!condition()) return false;
    expect_iterations(loop, 0);
    iterate(loop, [&] { body(iteration); });
    ++iteration;
    return true;
  });
}

void PathControl::run(const Loop& loop, Index first, const Turn& turn) {
  Index index = first;
  const Recorder::Numbers begin = recorder_.numbers();
  const bool led = replays_;
  if (led) {
    if (cursor_ < path_.frames[depth_].events.size()) return skip(loop);
    enter(loop);
    index = path_.frames[depth_].index;
  } else {
    path_.frames.emplace_back();
  }
  const std::size_t depth = led ? depth_ : path_.frames.size() - 1;
  for (bool under_way = led;; under_way = false) {
    if (!under_way) {
      PathFrame& frame = path_.frames[depth];
      frame = {index, values(loop, frame.carried), begin, recorder_.numbers(), {}};
      watcher_->at_boundary(path_);
    }
    if (!turn(index)) break;
  }
  TDSL_CHECK(!replays_ && path_.frames.size() == depth + 1, "a loop ends in its own frame");
  PathEvent over{true, 0, values(loop, path_.frames[depth].carried), begin, recorder_.numbers()};
  path_.frames.pop_back();
  path_.frames.back().events.push_back(std::move(over));
}

const PathEvent& PathControl::next_event(bool is_loop) {
  const std::vector<PathEvent>& events = path_.frames[depth_].events;
  TDSL_CHECK(cursor_ < events.size() && events[cursor_].is_loop == is_loop, "a replay follows the recorded events");
  return events[cursor_++];
}

/// Skips a loop that had finished.
void PathControl::skip(const Loop& loop) {
  const PathEvent& over = next_event(true);
  TDSL_CHECK(over.begin == recorder_.numbers(), "a replay records the same operations");
  restore(loop, over.carried);
  recorder_.set_numbers(over.end);
}

/// Enters a loop that was in progress.
void PathControl::enter(const Loop& loop) {
  ++depth_;
  cursor_ = 0;
  TDSL_CHECK(depth_ < path_.frames.size(), "a replay ends in its last frame");
  const PathFrame& frame = path_.frames[depth_];
  TDSL_CHECK(frame.begin == recorder_.numbers(), "a replay records the same operations");
  restore(loop, frame.carried);
  recorder_.set_numbers(frame.top);
  if (depth_ + 1 < path_.frames.size()) return;
  replays_ = false;
  watcher_->replayed();
}

std::vector<CarriedValue> PathControl::values(const Loop& loop, const std::vector<CarriedValue>& last) const {
  std::vector<CarriedValue> all;
  all.reserve(loop.carried.size());
  for (std::size_t k = 0; k < loop.carried.size(); ++k) {
    const CarriedRef& variable = loop.carried[k];
    CarriedValue& value = all.emplace_back();
    if (!variable.is_tensor()) {
      value.bits = variable.bits();
    } else if (variable.tensor().names_something()) {
      const TensorState& state = variable.tensor().state();
      const bool same = k < last.size() && last[k].tensor != nullptr && last[k].tensor->desc.id == state.desc.id;
      value.tensor = same ? last[k].tensor : std::make_shared<const KnownTensor>(KnownTensor{state.desc, state.type});
    }
  }
  return all;
}

void PathControl::restore(const Loop& loop, const std::vector<CarriedValue>& values) {
  TDSL_CHECK(values.size() == loop.carried.size(), "a replayed loop carries the recorded number of values");
  std::vector<TensorHandle> tensors(values.size());  // before any names are released: variables may have been swapped
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k].tensor != nullptr) tensors[k] = recorder_.name(values[k].tensor->desc, values[k].tensor->type);
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (loop.carried[k].is_tensor()) {
      loop.carried[k].tensor() = std::move(tensors[k]);
    } else {
      loop.carried[k].set_bits(values[k].bits);
    }
  }
}

void PathControl::choose(int site, std::span<const Branch> forms) {
  forms[static_cast<std::size_t>(decide(static_cast<Index>(form_at(site, forms.size()))))]();
}

bool PathControl::read(ElementType, std::span<std::byte> value) {
  if (!replays_) return false;
  const std::uint64_t bits = next_event(false).bits;
  std::memcpy(value.data(), &bits, value.size());
  return true;
}

Index PathControl::decide(Index answer) {
  if (replays_) return static_cast<Index>(next_event(false).bits);
  if (watcher_ == nullptr) return answer;
  PathEvent decision;
  decision.bits = static_cast<std::uint64_t>(answer);
  path_.frames.back().events.push_back(std::move(decision));
  return answer;
}

void PathControl::answered(std::span<const std::byte> value) {
  if (watcher_ == nullptr) return;
  PathEvent answer;
  std::memcpy(&answer.bits, value.data(), value.size());
  path_.frames.back().events.push_back(std::move(answer));
}

}  // namespace tdsl::record
