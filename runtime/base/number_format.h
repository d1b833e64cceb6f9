#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/record/summary.h"
#include "runtime/types.h"

/// Text of scalars and arrays as shown by `print` and an `output` without a file.
namespace tdsl::rt {

/// The shortest text that reads back to the same value, like Python's and NumPy's repr: `0.1`, `1.0`, `1e-05`, `1e+16`,
/// `inf`, `-inf`, `nan`; `true`, `false`; `1.0+2.0i`, `nan-infi`. The other overloads are
/// shortest for their precision.
#define TDSL_FORMAT(enumerator, T, ...) [[nodiscard]] std::string format_scalar(T value);
TDSL_ELEMENT_TYPES(TDSL_FORMAT)
#undef TDSL_FORMAT

/// A byte count for messages: `512 bytes`, `1.5 MiB`.
[[nodiscard]] std::string format_bytes(std::int64_t bytes);

/// `f64[4, 5]`, or `f64` for a scalar.
[[nodiscard]] std::string format_type(ElementType type, std::span<const std::int64_t> shape);

using record::summary_indices;

/// Two or more lines without a final newline: `NAME: f64[4, 5]` and the array as NumPy prints it (bools as true and
/// false). `elements` holds the product of summary_indices(shape) in C order. A scalar is one line, `NAME: f64 = 0.5`.
template <Element T>
[[nodiscard]] std::string format_summary(std::string_view name, std::span<const std::int64_t> shape,
                                         std::span<const T> elements);

/// The summary of a series: `NAME: f64[r=12, 4, 5]` and the last record. `last`: format_summary of that record; empty
/// if there is none.
[[nodiscard]] std::string series_summary(std::string_view name, ElementType type, std::int64_t records,
                                         std::span<const std::int64_t> shape, std::string_view last);

}  // namespace tdsl::rt
