#pragma once

#include "runtime/plan/segment.h"

namespace tdsl::record {

/// Receives recorded segments in program order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void segment(plan::Segment segment) = 0;
};

}  // namespace tdsl::record
