#pragma once

#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// Runs the operation's kernel on a task's tile; a long kernel runs in pieces, so that the rank can answer its peers
/// in between.
void call_kernel(const OperationRun& operation, const TaskArgs& args);

}  // namespace tdsl::rt
