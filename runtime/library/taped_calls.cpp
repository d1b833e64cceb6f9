#include "runtime/library/taped_calls.h"

#include <cstddef>
#include <exception>
#include <utility>

#include "runtime/library/described_arrays.h"

namespace tdsl::rt {

namespace {

constexpr std::size_t kMostKnown = 64;
constexpr std::size_t kMostTaped = 16;

}  // namespace

bool TapedCall::repeat(std::span<const tdsl_array> inputs, std::span<const tdsl_array> outputs) const {
  try {
    arrays->point_to(inputs, outputs);
    require_apart(arrays->inputs(), arrays->outputs());
  } catch (const std::exception&) { return false; }  // the run reports it
  return tape->repeat(run->run_threads());
}

const TapedCall* TapedCalls::find(const std::string& params, std::span<const tdsl_array> inputs,
                                  std::span<const tdsl_array> outputs) const {
  for (const TapedCall& call : calls_) {
    if (call.params == params && call.arrays->alike(inputs, outputs)) return &call;
  }
  return nullptr;
}

bool TapedCalls::wanted(const std::string& call) const {
  const auto known = known_.find(call);
  return known != known_.end() && known->second;
}

void TapedCalls::note(const std::string& call, const CalledRun& run) {
  if (call.empty() || known_.contains(call)) return;
  if (known_.size() >= kMostKnown) known_.clear();
  known_.emplace(call, run.is_repeatable());
}

void TapedCalls::add(const std::string& call, TapedCall taped) {
  if (!taped.tape->complete()) {
    known_[call] = false;
    return;
  }
  if (calls_.size() >= kMostTaped) calls_.pop_back();
  calls_.push_front(std::move(taped));
}

void TapedCalls::forget(const TapedCall* taped) {
  calls_.remove_if([taped](const TapedCall& call) { return &call == taped; });
}

void TapedCalls::clear() {
  known_.clear();
  calls_.clear();
}

}  // namespace tdsl::rt
