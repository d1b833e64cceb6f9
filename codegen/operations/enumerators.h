#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "codegen/operations/program.h"

// Names of enumerators in the text form of operation programs.

namespace tdsl::codegen {

/// Names in order, for enumerations without a `name_of`.
template <class E>
inline constexpr std::array<std::string_view, 0> kEnumerators{};
template <>
inline constexpr std::array kEnumerators<plan::Combine> = std::to_array<std::string_view>({"none", "sum", "prod", "min",
                                                                                           "max", "any", "all"});
template <>
inline constexpr std::array kEnumerators<plan::SparseResult> = std::to_array<std::string_view>(
    {"dense", "like_visited", "of_points", "elements_of", "selected_from", "rows_selected_from",
     "columns_selected_from", "guessed", "at_visited", "assembled"});
template <>
inline constexpr std::array kEnumerators<ir::Check::Relation> = std::to_array<std::string_view>({"equal", "at_most"});
template <>
inline constexpr std::array kEnumerators<record::Known> = std::to_array<std::string_view>({"start", "loop", "data"});

/// The last enumerator, for enumerations with a `name_of`.
template <class E>
inline constexpr E kLast{};
template <>
inline constexpr plan::OpClass kLast<plan::OpClass> = plan::OpClass::kRestore;
template <>
inline constexpr ir::Random::Kind kLast<ir::Random::Kind> = ir::Random::Kind::kSparse;
template <>
inline constexpr ir::Routine::Kind kLast<ir::Routine::Kind> = ir::Routine::Kind::kForeign;
template <>
inline constexpr ir::Routine::SolveKind kLast<ir::Routine::SolveKind> = ir::Routine::SolveKind::kPositive;
template <>
inline constexpr ir::Routine::Scale kLast<ir::Routine::Scale> = ir::Routine::Scale::kWhole;
template <>
inline constexpr ir::Scalar kLast<ir::Scalar> = ir::Scalar::kBf16;

template <class E>
[[nodiscard]] std::string_view name_of_enumerator(E e) {
  if constexpr (kEnumerators<E>.size() > 0) {
    return kEnumerators<E>[static_cast<std::size_t>(e)];
  } else {
    using ir::name_of;  // for element types, which are declared in rt
    return name_of(e);
  }
}

template <class E>
[[nodiscard]] std::optional<E> enumerator_named(std::string_view name) {
  constexpr std::size_t kCount =
      kEnumerators<E>.size() > 0 ? kEnumerators<E>.size() : static_cast<std::size_t>(kLast<E>) + 1;
  for (std::size_t k = 0; k < kCount; ++k) {
    if (name_of_enumerator(static_cast<E>(k)) == name) return static_cast<E>(k);
  }
  return std::nullopt;
}

}  // namespace tdsl::codegen
