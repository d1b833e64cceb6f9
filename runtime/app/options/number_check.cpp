#include "runtime/app/options/number_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include "runtime/plan/segment.h"
#include "runtime/sparse/elements.h"
#include "runtime/types.h"

namespace tdsl::rt {

namespace {

/// Subscripts of element `number`, counted row-major within its box.
std::vector<Index> subscripts(const Box& box, Index number) {
  std::vector<Index> at(static_cast<std::size_t>(box.rank));
  for (int d = box.rank; d-- > 0;) {
    at[plan::idx(d)] = box[d].lo + number % box[d].size();
    number /= box[d].size();
  }
  return at;
}

template <class T>
bool is_sought(NumberKinds kinds, T value) {
  return (kinds.nan && std::isnan(value)) || (kinds.inf && std::isinf(value));
}

/// Row-major number of the first matching element of a block, or -1. Most blocks are finite, so they are tested by a
/// sum first: only finite x have x * 0 == 0.
template <class T>
Index find_in(const T* data, Index size, NumberKinds kinds) {
  constexpr Index kRun = 4096;
  for (Index begin = 0; begin < size; begin += kRun) {
    const Index end = std::min(size, begin + kRun);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index k = begin; k < end; ++k) sum += data[k] * T(0);
    if (sum == T(0)) continue;
    for (Index k = begin; k < end; ++k) {
      if (is_sought(kinds, data[k])) return k;
    }
  }
  return -1;
}

template <class T>
bool find(const Operand& dense, const BlockPart& sized, NumberKinds kinds, NumberFinding& finding) {
  if (dense.data != nullptr) {
    const T* const data = reinterpret_cast<const T*>(dense.data);
    const Index number = find_in(data, dense.box.volume(), kinds);
    if (number < 0) return false;
    finding.at = subscripts(dense.box, number);
    finding.value = static_cast<double>(data[number]);
    return true;
  }
  if (sized.data == nullptr || sized.box.rank == 0) return false;
  bool found = false;
  const sparse::Part part{reinterpret_cast<const sparse::BlockHead*>(sized.data), sized.box, sized.box[0]};
  sparse::Elements<T>({&part, 1}).each(sized.box[0], [&](std::span<const Index> at, T value) {
    if (found || !is_sought(kinds, value)) return;
    found = true;
    finding.at.assign(at.begin(), at.end());
    finding.value = static_cast<double>(value);
  });
  return found;
}

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto* const from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

template <class T>
T take(std::span<const std::byte>& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

std::vector<std::byte> bytes_of(const NumberFinding& f) {
  std::vector<std::byte> bytes;
  append(bytes, f.operation);
  append(bytes, f.output);
  append(bytes, f.value);
  append(bytes, f.rank);
  append(bytes, f.line);
  append(bytes, f.loaded);
  append(bytes, f.at.size());
  for (const Index x : f.at) append(bytes, x);
  for (const char c : f.tensor) append(bytes, c);
  return bytes;
}

NumberFinding finding_of(std::span<const std::byte> bytes) {
  NumberFinding f;
  f.operation = take<Index>(bytes);
  f.output = take<Index>(bytes);
  f.value = take<double>(bytes);
  f.rank = take<int>(bytes);
  f.line = take<int>(bytes);
  f.loaded = take<bool>(bytes);
  f.at.resize(take<std::size_t>(bytes));
  for (Index& x : f.at) x = take<Index>(bytes);
  f.tensor.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return f;
}

}  // namespace

bool NumberFinding::before(const NumberFinding& other) const {
  return std::tie(operation, output, at) < std::tie(other.operation, other.output, other.at);
}

std::string NumberFinding::text(const std::string& inner) const {
  std::string place;
  for (const Index x : at) place += (place.empty() ? "[" : ", ") + std::to_string(x);
  if (!place.empty()) place += "]";
  const std::string what = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  return "--check: `" + tensor + "`" + (place.empty() ? "" : " at " + place) + " is " + what + " (rank " +
         std::to_string(rank) + "); " + (loaded ? "so it is in the file it was read from" : "its operands are not") +
         (loaded || inner.empty() ? ""
                                  : "; its kernel also computes values of " + inner + ", which only tdslc build " +
                                        kSplitKernels + " lets --check see");
}

std::string lines_text(const ProgramInfo& info, const std::vector<int>& places) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> items;
  for (std::size_t k = 0; k < places.size();) {
    std::size_t end = k + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    const SourceLine first = info.at(places[k]);
    std::string item = first.file == info.declaration().source_file
                           ? std::to_string(first.line)
                           : std::string(first.file) + ":" + std::to_string(first.line);
    if (end > k + 1) item += "-" + std::to_string(line_in(places[end - 1]));
    items.push_back(std::move(item));
    k = end;
  }
  if (items.empty()) return {};
  const bool one = places.size() == 1;
  if (items.size() > kMost) {
    items.resize(kMost);
    items.emplace_back("others");
  }
  std::string text = one ? "line " : "lines ";
  for (std::size_t k = 0; k < items.size(); ++k)
    text += (k == 0 ? "" : k + 1 == items.size() ? " and " : ", ") + items[k];
  return text;
}

void NumberCheck::complete(Index operation, const plan::Op& op, int output, const Operand& dense,
                           const BlockPart& sized) {
  const plan::TensorDesc& desc = op.outputs[plan::idx(output)];
  // Partial results hold the reduction's neutral element, e.g. inf for a minimum, where they have no points; they are
  // checked once they are combined.
  if (plan::is_part(desc.id)) return;
  const std::optional<ElementType> type = element_type_named(desc.element.name);
  if (type != ElementType::kF32 && type != ElementType::kF64) return;
  NumberFinding finding;
  finding.operation = operation;
  finding.output = output;
  finding.rank = rank_;
  finding.line = op.line;
  finding.tensor = desc.name;
  finding.loaded = op.op_class == plan::OpClass::kLoad || op.op_class == plan::OpClass::kRestore;
  const bool found = *type == ElementType::kF32 ? find<float>(dense, sized, kinds_, finding)
                                                : find<double>(dense, sized, kinds_, finding);
  if (found) keep(std::move(finding));
}

void NumberCheck::keep(NumberFinding finding) {
  const std::lock_guard lock(mutex_);
  if (!least_ || finding.before(*least_)) least_ = std::move(finding);
}

std::optional<NumberFinding> NumberCheck::first(Engine& engine, int ranks) const {
  std::optional<NumberFinding> least;
  {
    const std::lock_guard lock(mutex_);
    least = least_;
  }
  const std::vector<std::byte> mine = least ? bytes_of(*least) : std::vector<std::byte>();
  int next = mine.empty() ? ranks : 0;
  const Engine::Received all = engine.exchange([&](int& target, std::vector<std::byte>& bytes) {
    if (next == rank_) ++next;
    if (next >= ranks) return false;
    target = next++;
    bytes = mine;
    return true;
  });
  for (const std::vector<std::vector<std::byte>>& messages : all) {
    for (const std::vector<std::byte>& message : messages) {
      NumberFinding finding = finding_of(message);
      if (!least || finding.before(*least)) least = std::move(finding);
    }
  }
  return least;
}

}  // namespace tdsl::rt
