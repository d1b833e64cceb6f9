#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Why a loop cannot run as one task, with the location.
struct NotSerial {
  SourceRange range;
  std::string reason;
};

/// A loop is *serial* if its body consists of scalar work only, so that it can run as one sequential function on whole
/// tensors: scalars (including random ones), reads and writes of single elements, nested loops and branches of the same
/// kind, assertions. A reduction qualifies if it offers no parallelism: over a few elements, or over elements the loop
/// writes. Nothing if the loop is serial; `serial_loops` records this in For::serial and While::serial.
///
/// With `kTensors`, whole tensors are values like scalars: computed point by point, and copied if an old value is
/// needed along with a new one; so are routines on matrices (`runs_in_tasks`). This is correct for all sizes and
/// sensible for small ones.
enum class SerialWork : std::uint8_t { kScalars, kTensors };
[[nodiscard]] std::optional<NotSerial> why_not_serial(const Program& program, const Node& loop,
                                                      SerialWork work = SerialWork::kScalars);

/// True if the node is a loop with the mark.
[[nodiscard]] bool is_marked_serial(const Node& node);

}  // namespace tdsl::ir
