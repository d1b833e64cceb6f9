#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// How shapes are said in messages about inputs: executables, the evaluator and `explain` say the same.
namespace tdsl::rt {

/// `1 dimension`, `2 dimensions`.
[[nodiscard]] inline std::string counted(std::size_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

/// `[4, 5]`.
[[nodiscard]] inline std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  return text + "]";
}

/// The program declares another number of dimensions than the file has. `origin`: " in `a.npy`", or nothing; `shape`:
/// if it is known.
[[nodiscard]] inline std::string other_rank_text(std::string_view input, std::size_t declared, std::string_view origin,
                                                 std::size_t rank, std::optional<std::span<const std::int64_t>> shape) {
  std::string text = "input " + std::string(input) + " has " + counted(declared, "dimension") + ", but the array" +
                     std::string(origin) + " has " + std::to_string(rank);
  if (shape) text += ": shape " + shape_text(*shape);
  const bool matrix_file = origin.ends_with(".mtx`") || origin.ends_with(".npz`");
  if (declared == 1 && matrix_file && shape && std::ranges::count(*shape, 1) > 0) {
    text += "; these files hold matrices: declare one with an extent of 1, or give the vector as .npy or .tns";
  }
  return text;
}

/// Message for an input whose file states no shape and has entries beyond an extent fixed elsewhere.
[[nodiscard]] inline std::string reaches_text(std::int64_t reach) {
  return "has an entry at " + std::to_string(reach - 1) + ", from 0 on";
}

}  // namespace tdsl::rt
