#pragma once

#include <initializer_list>
#include <string_view>

#include "runtime/app/session/session.h"
#include "runtime/record/chain.h"

namespace tdsl::rt::routines {

using record::ChainFactor;

/// Records the product of a chain of matrices in the order of fewest multiplications (record/chain.h). `sizes`: the
/// dimensions along the chain, one more than factors. T is float or double.
template <Element T>
[[nodiscard]] Tensor<T> chain(Session& session, std::string_view name, std::initializer_list<ChainFactor> factors,
                              std::initializer_list<Index> sizes, record::Place place,
                              std::initializer_list<Index> tile = {}) {
  const record::ProductChain products{name, factors, sizes, tile, place};
  return Tensor<T>(record::record_chain(products, [&](plan::OpBuilder& op) { return session.contraction<T>(op); }));
}

}  // namespace tdsl::rt::routines
