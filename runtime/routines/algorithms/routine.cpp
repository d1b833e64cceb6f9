#include "runtime/routines/algorithms/routine.h"

#include <array>

#include "runtime/routines/algorithms/forms.h"
#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

namespace {

/// With at least this many lines, distributing whole lines keeps all ranks busy.
constexpr Index kFewLines = 64;

struct Traits {
  std::string_view name;
  int places;       ///< of both variants
  int first_alone;  ///< first place of the single-rank variant
  void (*distributed)(Caller&, Call&) = nullptr;
  int branches = 0;
};

/// Indexed by Routine.
constexpr std::array<Traits, 22> kTraits = {{
    {"cumsum", 4, 3, distributed_scan, 1},
    {"cumprod", 4, 3, distributed_scan, 1},
    {"cummax", 4, 3, distributed_scan, 1},
    {"cummin", 4, 3, distributed_scan, 1},
    {"sort", 1, 0},
    {"argsort", 1, 0},
    {"topk", 10, 8, distributed_topk, 1},
    {"filter", 3, 0},
    {"fft", 5, 4, distributed_fourier, 1},
    {"ifft", 5, 4, distributed_fourier, 1},
    {"rfft", 6, 5, distributed_fourier, 1},
    {"irfft", 6, 5, distributed_fourier, 1},
    {"solve", 21, 20, distributed_solve, 1},
    {"cholesky", 11, 10, distributed_cholesky, 1},
    {"lu", 19, 15, distributed_lu, 1},
    {"qr", 18, 15, distributed_qr, 3},
    {"svd", 4, 0},
    {"eigh", 3, 0},
    {"eig", 3, 0},
    {"inv", 1, 0},
    {"det", 1, 0},
    {"lstsq", 1, 0},
}};
const Traits& traits_of(Routine routine) { return kTraits[static_cast<std::size_t>(routine)]; }

class Choice : private Steps {
 public:
  using Steps::Steps;

  void run() {
    const Traits& traits = traits_of(call_.routine);
    if (call_.routine == Routine::kFilter) return distributed_filter(caller_, call_);
    if (is_partition()) return distributed_partition(caller_, call_);
    const auto alone = [&] { on_one_rank(caller_, call_, traits.first_alone); };
    if (traits.distributed == nullptr || is_batch() || call_.solves != SolveKind::kGeneral) return alone();
    const bool distributed = caller_.distributes(operand_bytes()) && suits();
    either(
        call_.site.known, 0, distributed, [&] { traits.distributed(caller_, call_); }, alone);
  }

 private:
  [[nodiscard]] bool is_batch() const {
    return !is_line(call_.routine) && call_.operands.front().state().desc.shape.size() > 2;
  }
  [[nodiscard]] bool is_partition() const {
    const auto& operand = call_.operands.front().state();
    return call_.routine == Routine::kTopk && operand.type == ElementType::kBool && operand.desc.shape.size() == 1;
  }
  /// Whether the sizes are suitable for the distributed variant.
  [[nodiscard]] bool suits() {
    const std::vector<Index>& shape = operand(0).state().desc.shape;
    if (call_.routine == Routine::kQr) return shape[0] >= 2 * shape[1];
    if (call_.routine == Routine::kTopk) return shape.size() == 1 && has_topk_by_blocks(shape[0], call_.count);
    if (is_fourier(call_.routine))
      return shape.size() == 1 &&
             has_long_line(call_.routine, call_.routine == Routine::kIrfft ? call_.count : shape[0]);
    if (is_scan(call_.routine)) {
      Index lines = 1;  // many lines are distributed as they are
      for (std::size_t d = 0; d < shape.size(); ++d) lines *= d == static_cast<std::size_t>(call_.axis) ? 1 : shape[d];
      return shape.size() == 1 || lines < kFewLines;
    }
    return true;
  }
};

}  // namespace

std::string_view name_of(Routine routine) { return traits_of(routine).name; }
int places_of(Routine routine) { return traits_of(routine).places; }
int branches_of(Routine routine) { return traits_of(routine).branches; }

void record_routine(Caller& caller, Call& call) { Choice(caller, call).run(); }

}  // namespace tdsl::rt::routines
