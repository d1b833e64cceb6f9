#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/algebra/error.h"
#include "ir/algebra/kernel.h"
#include "ir/algebra/key_function.h"
#include "ir/algebra/layout.h"
#include "ir/algebra/relation.h"
#include "ir/graph/expr.h"

// Tensor relations and their operators, derived from plans (Yuan et al., Tensor Relational Algebra, sections 2 and 3;
// flatMap as in TensorPlanner, section II).
//
// Meaning. A relation is a set of tuples (key, block) with unique keys. Expressions are pure. Both algebras use the
// same operators: over inputs without a layout they are those of the tensor relational algebra; over inputs with one
// they are the local operators of the implementation algebra, each result tuple is on the site of its operands' tuples,
// and only Redistribute moves tuples. tests/unit/algebra/oracle/evaluate.h defines the result of every operator.

namespace tdsl::ir::algebra {

struct Node;
/// A handle of a node of a Pool; equal expressions of one pool are the same node.
class Expr {
 public:
  Expr() = default;
  explicit Expr(const Node* node) : node_(node) {}
  [[nodiscard]] explicit operator bool() const { return node_ != nullptr; }
  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_; }
  friend bool operator==(const Expr&, const Expr&) = default;

 private:
  const Node* node_ = nullptr;
};

/// `input "A" keys [4, 4] where k0 <= k1 block [2, 2] part [0]`: an external relation, with every key below `frontier`
/// that `where` accepts.
struct Input {
  std::string name;
  Key frontier;
  Predicate where;
  BlockType block;
  std::optional<Layout> layout;
};
/// `join %0, %2 on [1], [0] by matmul then relu rekey [k0, k2]`: for every pair of tuples whose keys agree at the
/// joined dimensions, `by` and `then` of their blocks, under `keys` of the left key extended by the unjoined dimensions
/// of the right one.
struct Join {
  Dims left;
  Dims right;
  Kernel by;
  Kernels then;
  KeyFunction keys;
};
/// `aggregate %2 keep [0, 2] by add then scale(2)` (reduceByKey): the blocks whose keys agree at `keep`, combined by
/// `by`; `then` once of the result.
struct Aggregate {
  Dims keep;
  Kernel by;
  Kernels then;
};
/// `map %3 by relu` (transform), `rekey %3 [k0 + 1]`, or both: `map %3 rekey [k0 + 1] by relu`.
struct Map {
  KeyFunction keys;
  Kernels by;
};
/// `filter %3 where k0 == k1`: the tuples whose keys are accepted; the others' blocks become zero blocks.
struct Filter {
  Predicate where;
};
/// `tile %3 dim 1 size 2`: every block cut along block dimension `dim`; the piece's number is a new last key dimension.
struct Tile {
  int dim = 0;
  Index size = 1;
};
/// `concat %3 key 1 dim 0`: the inverse; concatenates blocks whose keys differ only in dimension `key`, along block
/// dimension `dim` in key order.
struct Concat {
  int key = 0;
  int dim = 0;
};
/// `flatmap %3 count 2 where t <= k0 keys [k0, t] slice 1 size 4 by relu`: for t from 0 to count - 1 for which `where`
/// of key and t holds, a tuple with key `keys` and `by` of the block or, with a slice, of its piece number t. All
/// operators on one relation except aggregation and concatenation are flatMaps.
struct FlatMap {
  struct Slice {
    int dim = 0;
    Index size = 1;
  };
  Index count = 1;
  Predicate where;
  KeyFunction keys;
  std::optional<Slice> slice;
  Kernels by;
};
/// `bcast %3`: to every site. `shuf %3 part [0, 2]`, `shuf %3 mesh ab part [0:a]`: to the sites given by the layout.
struct Redistribute {
  Layout to;
};
/// `opaque %3, %4 "solve" keys [4] block [25] part [0]`: a function outside this algebra. `name` is called (Calls) with
/// the operands as whole arrays; its result is cut into blocks again. It fetches its operands from any site; that
/// traffic is not counted.
struct Opaque {
  std::string name;
  Key frontier;
  BlockType block;
  std::optional<Layout> layout;
};

using Op = std::variant<Input, Join, Aggregate, Map, Filter, Tile, Concat, FlatMap, Redistribute, Opaque>;

struct Node {
  int id = 0;  ///< larger than those of its operands
  Op op;
  std::vector<Expr> operands;
  RelationType type;
  std::vector<std::string> problems;  ///< why its tuples may differ from its type, one sentence each
  bool sound = true;                  ///< neither it nor any operand, transitively, has problems
};

template <class T>
[[nodiscard]] const T* as(const Expr& e) {
  return std::get_if<T>(&e->op);
}

/// Owns expressions, with one node per distinct expression. Makers throw AlgebraError for an expression without a type;
/// violations that concern only tuples and sites are recorded in Node::problems (see verify.h).
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Expr make(Op op, std::vector<Expr> operands);

  Expr input(Input input) { return make(std::move(input), {}); }
  /// With the result's keys unchanged.
  Expr join(Expr left, Expr right, Dims left_dims, Dims right_dims, Kernel by, Kernels then = {});
  Expr aggregate(Expr e, Dims keep, Kernel by, Kernels then = {}) {
    return make(Aggregate{std::move(keep), std::move(by), std::move(then)}, {e});
  }
  Expr map(Expr e, Kernels by);
  Expr rekey(Expr e, KeyFunction keys) { return make(Map{std::move(keys), {}}, {e}); }
  Expr filter(Expr e, Predicate where) { return make(Filter{std::move(where)}, {e}); }
  Expr bcast(Expr e);
  /// PART over `dims`, on all axes.
  Expr shuf(Expr e, Dims dims);
  Expr redistribute(Expr e, Layout to) { return make(Redistribute{std::move(to)}, {e}); }

 private:
  std::deque<Node> nodes_;
  std::unordered_map<std::string, Expr> known_;
};

/// All nodes reachable from the roots, each once, operands first, from left to right: an order independent of the pool.
[[nodiscard]] std::vector<Expr> nodes_of(std::span<const Expr> roots);

/// A join's key before `keys` is the left key followed by the right key's values at unjoined dimensions. Returns, for
/// every dimension of the right key, its position there.
[[nodiscard]] Dims right_positions(const Join& join, std::size_t left_arity, std::size_t right_arity);
/// The positions of a key of the given arity that are not in `dims`.
[[nodiscard]] Dims without(std::size_t arity, const Dims& dims);

/// Named results of a computation, which share common subexpressions.
struct Program {
  struct Result {
    std::string name;
    Expr value;
    friend bool operator==(const Result& a, const Result& b) = default;
  };
  std::vector<Result> results;

  [[nodiscard]] std::vector<Expr> roots() const;
};

}  // namespace tdsl::ir::algebra
