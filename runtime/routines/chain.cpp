#include "runtime/routines/chain.h"

namespace tdsl::rt::routines {

template <Element T>
Tensor<T> chain(Session& session, std::string_view name, std::initializer_list<ChainFactor> factors,
                std::initializer_list<Index> sizes, record::Place place, std::initializer_list<Index> tile) {
  const record::ProductChain products{name, factors, sizes, tile, place};
  return Tensor<T>(record::record_chain(products, [&](plan::OpBuilder& op) { return session.contraction<T>(op); }));
}
template Tensor<float> chain(Session&, std::string_view, std::initializer_list<ChainFactor>,
                             std::initializer_list<Index>, record::Place, std::initializer_list<Index>);
template Tensor<double> chain(Session&, std::string_view, std::initializer_list<ChainFactor>,
                              std::initializer_list<Index>, record::Place, std::initializer_list<Index>);

}  // namespace tdsl::rt::routines
