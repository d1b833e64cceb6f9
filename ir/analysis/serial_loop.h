#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Why a loop cannot run as one task, and where.
struct NotSerial {
  SourceRange range;
  std::string reason;
};

/// A loop is *serial* if everything in it is work on scalars, so that it can run as one sequential function on whole
/// tensors: scalars, random ones too, reads and writes of single elements, nested loops and branches of the same kind,
/// assertions. A reduction counts as such where it cannot be parallel work: over a few elements, or over elements the
/// loop writes. Nothing if the loop is serial, which For::serial and While::serial say once `serial_loops` has found
/// it.
///
/// With `kTensors` whole tensors are values like scalars: computed point by point, and copied where an old value is
/// needed beside a new one. That is right for any sizes and sensible for small ones.
enum class SerialWork : std::uint8_t { kScalars, kTensors };
[[nodiscard]] std::optional<NotSerial> why_not_serial(const Program& program, const Node& loop,
                                                      SerialWork work = SerialWork::kScalars);

/// Whether the node is a loop with the mark.
[[nodiscard]] bool is_marked_serial(const Node& node);

}  // namespace tdsl::ir
