#pragma once

// The header that emitted programs include first, and the names they use.

#include <limits>
#include <tuple>
#include <utility>

#include "runtime/app/options/instructions.h"
#include "runtime/app/session/session.h"
#include "runtime/kernels/each.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/lines/masked.h"
#include "runtime/kernels/lines/rank.h"
#include "runtime/kernels/philox.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/stop.h"
#include "runtime/kernels/task.h"
#include "runtime/kernels/vector_math.h"
#include "runtime/plan/op_builder.h"

/// Marks functions that record operations: they run a few times while kernels run for hours, and optimising them is
/// most of the time g++ takes for a program of many statements. Their integers wrap around, as the language says.
#if defined(__GNUC__) && !defined(__clang__)
#define TDSL_RECORDING [[gnu::optimize("O0", "wrapv")]]
#else
#define TDSL_RECORDING [[gnu::cold]]
#endif

/// Marks kernels that are compiled in versions, into which they are inlined.
#define TDSL_VERSIONS [[gnu::always_inline]] inline

namespace tdsl::emitted {

namespace rt = tdsl::rt;
namespace plan = tdsl::plan;
namespace scalar = tdsl::rt::scalar;
namespace math = tdsl::rt::math;
using plan::at;
using plan::Combine;
using plan::fixed;
using plan::near;
using plan::OpBuilder;
using plan::OpClass;
using plan::walked;
using plan::whole;
using rt::Cut;
using rt::In;
using rt::Index;
using rt::Interval;
using rt::Known;
using rt::kScalars;
using rt::Out;
using rt::TaskArgs;
using rt::Tensor;
using enum rt::SimdLevel;

/// Before `main`, so that no vector of the program's comes first.
inline const bool kNotedInstructions = rt::note_instructions(rt::kCompiledInstructions);

}  // namespace tdsl::emitted
