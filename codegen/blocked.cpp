#include "codegen/blocked.h"

#include "codegen/blocked_topk.h"
#include "codegen/step_writer.h"
#include "ir/check.h"

namespace tdsl::codegen {

namespace {

using ir::BinaryOp;
using ir::Scalar;
using Kind = ir::Routine::Kind;

constexpr int kWhole = KernelOperand::kWhole;
/// Blocks of rows of a tall matrix: more than ranks that such a matrix is worth.
constexpr std::int64_t kRowBlocks = 64;

/// Blocks of a line whose running sums are formed by themselves.
constexpr std::int64_t kLineBlocks = 64;

/// One step's columns [lo, hi) of a factorisation.
struct Block {
  Extent lo;
  Extent size;
  Extent hi;
};

class Blocked {
 public:
  Blocked(FamilyBuilder& builder, const BlockedRoutine& routine)
      : builder_(builder), routine_(routine), write_(builder, routine.range), a_(routine.operands[0]), scalar_(builder.type(a_).scalar) {
    for (const Extent& e : builder.type(a_).shape) shape_.push_back(builder.rewritten(e, routine.range));
  }

  void run() {
    switch (routine_.kind) {
      case Kind::kCholesky: return cholesky();
      case Kind::kLu: return lu();
      case Kind::kSolve: return solve();
      case Kind::kQr: return qr();
      case Kind::kCumsum: return cumsum();
      default: TDSL_CHECK(false, "this routine has no distributed form");
    }
  }

 private:
  [[nodiscard]] Expr i() const { return StepWriter::i(0); }
  [[nodiscard]] Expr j() const { return StepWriter::i(1); }
  [[nodiscard]] Expr l() const { return StepWriter::i(2); }
  Expr cast_index(const Expr& e) { return ir::cast(Scalar::kI64, e); }
  [[nodiscard]] Expr one() const { return ir::constant(scalar_, 1.0); }
  [[nodiscard]] Expr minus(const Expr& x, const Expr& y) const { return ir::binary(BinaryOp::kSub, x, y); }
  [[nodiscard]] Expr minus(const Expr& x) const { return ir::unary(ir::UnaryOp::kNeg, x); }
  [[nodiscard]] Expr times(const Expr& x, const Expr& y) const { return ir::binary(BinaryOp::kMul, x, y); }

  /// Columns per step of a factorisation of `columns`.
  Extent edge(const Extent& columns) {
    const Expr eighth = ir::binary(BinaryOp::kDiv, write_.expr(columns), ir::constant_i64(8));
    const Expr least = ir::binary(BinaryOp::kMax, ir::constant_i64(2), eighth);
    return write_.number("edge", ir::binary(BinaryOp::kMin, ir::constant_i64(256), least));
  }
  Extent blocks(const Extent& columns, const Extent& edge) {
    return write_.quotient("blocks", columns + edge - Extent(1), edge);
  }
  Block block(const Extent& number, const Extent& edge, const Extent& columns) {
    const Extent lo = write_.number("lo", write_.expr(number * edge));
    const Extent size = write_.smaller("width", edge, columns - lo);
    return {lo, size, write_.number("hi", write_.expr(lo + size))};
  }

  void cholesky() {
    const Extent n = shape_[0];
    const Extent width = edge(n);
    one_panel_ahead(n, width);
    const ValueId s0 = write_.map("factor", {{"i", n}, {"j", n}}, write_.at(a_, {i(), j()}));
    const ValueId s = write_.loop(blocks(n, width), {s0}, [&](const Extent& k, const std::vector<ValueId>& now) {
      const Block b = block(k, width, n);
      const Extent rest = n - b.hi;
      const ValueId diagonal = write_.map("diagonal", {{"i", b.size}, {"j", b.size}},
                                          write_.at(now[0], {write_.from(b.lo, 0), write_.from(b.lo, 1)}));
      StepWriter::Prebuilt factor{"cholesky", {{"i", b.size}, {"j", b.size}}, {true, true}, {{diagonal, {kWhole, kWhole}}}, {}, true};
      factor.flops = 1.0 / 3;
      factor.factor = b.size;
      const ValueId corner = write_.prebuilt("corner", scalar_, factor);
      const ValueId panel =
          write_.map("panel", {{"i", rest}, {"j", b.size}}, write_.at(now[0], {write_.from(b.hi, 0), write_.from(b.lo, 1)}));
      StepWriter::Prebuilt divide{"triangular_rows", {{"i", rest}, {"j", b.size}}, {false, true},
                                  {{panel, {0, kWhole}}, {corner, {kWhole, kWhole}}}, {}, false};
      divide.factor = b.size;
      const ValueId below = write_.prebuilt("below", scalar_, divide);
      const ValueId negative = write_.map("negative", {{"i", rest}, {"j", b.size}}, minus(write_.at(below, {i(), j()})));
      const ValueId s1 = write_.added_product(now[0], {{"i", rest}, {"j", rest}}, {"l", b.size}, {write_.from(b.hi, 0), write_.from(b.hi, 1)},
                                              times(write_.at(negative, {i(), l()}), write_.at(below, {j(), l()})));
      const ValueId s2 = write_.replaced(s1, {{"i", b.size}, {"j", b.size}}, {write_.from(b.lo, 0), write_.from(b.lo, 1)},
                                         write_.at(corner, {i(), j()}));
      return std::vector<ValueId>{write_.replaced(s2, {{"i", rest}, {"j", b.size}}, {write_.from(b.hi, 0), write_.from(b.lo, 1)},
                                                  write_.at(below, {i(), j()}))};
    })[0];
    const Expr above = ir::binary(BinaryOp::kGt, j(), i());
    write_.name(routine_.results[0], write_.replaced_where(s, {{"i", n}, {"j", n}}, above, write_.zero(scalar_)));
  }

  /// What ranks receive for later steps is bounded by one block column, whatever the window is.
  void one_panel_ahead(const Extent& rows, const Extent& width) {
    builder_.set_run_ahead(rows * width * Extent(static_cast<std::int64_t>(ir::size_of(scalar_))));
  }

  /// L and U in one matrix, rows where they were: row p[i] is row i of both.
  struct Eliminated {
    ValueId s;
    ValueId p;
  };

  /// Elimination with partial pivoting of the first `columns` columns of s (m x n); `stops`: a zero pivot ends the run.
  /// Rows stay where they are: row p[i] takes the place of row i.
  Eliminated eliminate(ValueId s0, const Extent& m, const Extent& n, const Extent& columns, bool stops) {
    const Extent width = edge(columns);
    one_panel_ahead(m, width);
    const ValueId p0 = write_.map("rows", {{"i", m}}, i());
    const auto step = [&](const Extent& k, const std::vector<ValueId>& now) {
      const ValueId s = now[0];
      const Block b = block(k, width, columns);
      const Extent rest = n - b.hi;
      const ValueId columns_of_s = write_.map("columns", {{"i", m}, {"j", b.size}}, write_.at(s, {i(), write_.from(b.lo, 1)}));
      StepWriter::Prebuilt factor{"lu_panel", {{"i", m + b.size}, {"j", b.size + Extent(2)}}, {true, true},
                                  {{columns_of_s, {kWhole, kWhole}}, {now[1], {kWhole}}}, {b.lo}, true};
      factor.arguments.push_back(Extent(stops ? 1 : 0));
      factor.factor = b.size;
      const ValueId panel = write_.prebuilt("panel", scalar_, factor);
      const ValueId p = write_.map("rows", {{"i", m}}, cast_index(write_.at(panel, {i(), write_.expr(b.size)})));
      const ValueId corner =
          write_.map("corner", {{"i", b.size}, {"j", b.size}}, write_.at(panel, {write_.from(m, 0), j()}));
      // Rows below the pivots are eliminated; in the pivots' own rows, whose multipliers stand left of the diagonal only,
      // the same product is the forward substitution that leaves U.
      const Expr place = minus(cast_index(write_.at(panel, {i(), write_.expr(b.size + Extent(1))})), write_.expr(b.lo));
      const Expr factors = ir::select(ir::binary(BinaryOp::kLt, j(), place), minus(write_.at(panel, {i(), j()})), write_.zero(scalar_));
      const ValueId negative = write_.map("negative", {{"i", m}, {"j", b.size}}, factors);
      const ValueId s1 = write_.replaced(s, {{"i", m}, {"j", b.size}}, {i(), write_.from(b.lo, 1)}, write_.at(panel, {i(), j()}));
      const ValueId picked = write_.map("picked", {{"i", b.size}, {"j", rest}},
                                        write_.at(s1, {write_.at(p, {write_.from(b.lo, 0)}), write_.from(b.hi, 1)}));
      StepWriter::Prebuilt divide{"forward_columns", {{"i", b.size}, {"j", rest}}, {true, false},
                                  {{corner, {kWhole, kWhole}}, {picked, {kWhole, 1}}}, {}, false};
      divide.factor = b.size;
      const ValueId right = write_.prebuilt("right", scalar_, divide);
      const ValueId s2 = write_.added_product(s1, {{"i", m}, {"j", rest}}, {"l", b.size}, {i(), write_.from(b.hi, 1)},
                                              times(write_.at(negative, {i(), l()}), write_.at(right, {l(), j()})));
      return std::vector<ValueId>{s2, p};
    };
    const std::vector<ValueId> last = write_.loop(blocks(columns, width), {s0, p0}, step);
    return {last[0], last[1]};
  }

  void lu() {
    const Extent& m = shape_[0];
    const Extent& n = shape_[1];
    const Extent k = builder_.rewritten(builder_.type(routine_.results[1]).shape[1], routine_.range);
    const ValueId s0 = write_.map("factor", {{"i", m}, {"j", n}}, write_.at(a_, {i(), j()}));
    const Eliminated e = eliminate(s0, m, n, k, false);
    write_.map_into(routine_.results[0], {{"i", m}}, write_.at(e.p, {i()}));
    const ValueId both = write_.map("rows_in_order", {{"i", m}, {"j", n}}, write_.at(e.s, {write_.at(e.p, {i()}), j()}));
    const Expr below = ir::select(ir::binary(BinaryOp::kLt, j(), i()), write_.at(both, {i(), j()}), write_.zero(scalar_));
    write_.map_into(routine_.results[1], {{"i", m}, {"j", k}}, ir::select(ir::binary(BinaryOp::kEq, i(), j()), one(), below));
    const Expr upper = ir::select(ir::binary(BinaryOp::kLe, i(), j()), write_.at(both, {i(), j()}), write_.zero(scalar_));
    write_.map_into(routine_.results[2], {{"i", k}, {"j", n}}, upper);
  }

  void solve() {
    const Extent& n = shape_[0];
    const ValueId b = routine_.operands[1];
    const bool vector = builder_.type(b).rank() == 1;
    const Extent r = vector ? Extent(1) : builder_.rewritten(builder_.type(b).shape[1], routine_.range);
    const Expr right = vector ? write_.at(b, {i()}) : write_.at(b, {i(), minus(j(), write_.expr(n))});
    const ValueId s0 = write_.map("factor", {{"i", n}, {"j", n + r}},
                                  ir::select(ir::binary(BinaryOp::kLt, j(), write_.expr(n)), write_.at(a_, {i(), j()}), right));
    const Eliminated e = eliminate(s0, n, n + r, n, true);
    const Extent width = edge(n);
    const Extent count = blocks(n, width);
    const ValueId y0 = write_.map("y", {{"i", n}, {"j", r}}, write_.at(e.s, {i(), write_.from(n, 1)}));
    const ValueId x0 = write_.map("x", {{"i", n}, {"j", r}}, write_.zero(scalar_));
    const ValueId x = write_.loop(count, {y0, x0}, [&](const Extent& k, const std::vector<ValueId>& now) {
      const Block rows = block(count - Extent(1) - k, width, n);
      const Expr row = write_.at(e.p, {write_.from(rows.lo, 0)});
      const ValueId open = write_.map("open", {{"i", rows.size}, {"j", r}}, write_.at(now[0], {row, j()}));
      const ValueId corner = write_.map("corner", {{"i", rows.size}, {"j", rows.size}}, write_.at(e.s, {row, write_.from(rows.lo, 1)}));
      StepWriter::Prebuilt divide{"backward_columns", {{"i", rows.size}, {"j", r}}, {true, false},
                                  {{corner, {kWhole, kWhole}}, {open, {kWhole, 1}}}, {}, false};
      divide.factor = rows.size;
      const ValueId found = write_.prebuilt("found", scalar_, divide);
      // In rows that are solved this leaves numbers that nobody reads.
      const ValueId negative = write_.map("negative", {{"i", rows.size}, {"j", r}}, minus(write_.at(found, {i(), j()})));
      const ValueId y = write_.added_product(now[0], {{"i", n}, {"j", r}}, {"l", rows.size}, {i(), j()},
                                             times(write_.at(e.s, {i(), write_.from(rows.lo, 2)}), write_.at(negative, {l(), j()})));
      return std::vector<ValueId>{
          y, write_.replaced(now[1], {{"i", rows.size}, {"j", r}}, {write_.from(rows.lo, 0), j()}, write_.at(found, {i(), j()}))};
    })[1];
    if (vector) {
      write_.map_into(routine_.results[0], {{"i", n}}, write_.at(x, {i(), ir::constant_i64(0)}));
    } else {
      write_.map_into(routine_.results[0], {{"i", n}, {"j", r}}, write_.at(x, {i(), j()}));
    }
  }

  void cumsum() {
    const auto axis = static_cast<std::size_t>(routine_.axis);
    const Extent& n = shape_[axis];
    const Expr half = ir::binary(BinaryOp::kDiv, write_.expr(n), ir::constant_i64(2));
    const Expr wanted = ir::binary(BinaryOp::kMax, ir::constant_i64(1), ir::binary(BinaryOp::kMin, ir::constant_i64(kLineBlocks), half));
    const Extent groups = write_.number("groups", wanted);
    const Extent length = write_.quotient("length", n + groups - Extent(1), groups);
    const Extent height = write_.number("height", ir::binary(BinaryOp::kMax, ir::constant_i64(1), write_.expr(length)));
    const Extent filled = write_.quotient("blocks", n + height - Extent(1), height);
    std::vector<Axis> line;
    std::vector<Axis> blocks;
    std::vector<int> labels;
    std::vector<bool> uncut(shape_.size(), false);
    StepWriter::Prebuilt sums{"block_sums", {}, {}, {}, {Extent(routine_.axis), height}, false};
    StepWriter::Prebuilt runs{"block_cumsum", {}, {}, {}, {Extent(routine_.axis), height}, false};
    AccessTemplate read{a_, {}, "blocks of lines"};
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const std::string name(1, static_cast<char>('i' + d));
      line.push_back({name, shape_[d]});
      blocks.push_back({name, d == axis ? filled : shape_[d]});
      labels.push_back(static_cast<int>(d));
      const bool along = d == axis;
      read.dims.push_back({{Term{static_cast<int>(d), along ? height : Extent(1)}}, Extent(0), along ? height : Extent(1), false});
      if (d <= axis) sums.tile.push_back(along ? Extent(1) : shape_[d]);
      if (d <= axis) runs.tile.push_back(along ? height : shape_[d]);
    }
    sums.axes = blocks;
    sums.factor = height;
    std::vector<Extent> blocks_shape;
    for (const Axis& a : blocks) blocks_shape.push_back(a.extent);
    const ValueId block_sums = write_.declare("block_sums", scalar_, blocks_shape);
    write_.prebuilt_into(block_sums, sums, {std::move(read)});
    uncut[axis] = true;
    std::vector<int> whole_axis = labels;
    whole_axis[axis] = kWhole;
    StepWriter::Prebuilt prefix{"exclusive_sums", blocks, uncut, {{block_sums, whole_axis}}, {Extent(routine_.axis)}, false};
    const ValueId before = write_.prebuilt("before", scalar_, prefix);
    runs.axes = line;
    runs.operands = {{a_, labels}, {before, whole_axis}};
    write_.prebuilt_into(routine_.results[0], runs);
  }

  /// Rows in blocks of `height` (at least n, the last may be shorter).
  struct RowBlocks {
    Extent height;
    Extent count;
  };

  RowBlocks row_blocks() {
    const Extent& m = shape_[0];
    // All R together are a quarter of A at most.
    const Expr squares = ir::binary(BinaryOp::kDiv, write_.expr(m), ir::binary(BinaryOp::kMax, write_.expr(shape_[1]), ir::constant_i64(1)));
    const Expr few = ir::binary(BinaryOp::kMax, ir::binary(BinaryOp::kDiv, squares, ir::constant_i64(4)),
                                ir::binary(BinaryOp::kMin, squares, ir::constant_i64(2)));
    const Expr wanted = ir::binary(BinaryOp::kMin, ir::constant_i64(kRowBlocks), few);
    const Extent groups = write_.number("groups", ir::binary(BinaryOp::kMax, wanted, ir::constant_i64(1)));
    const Extent height = write_.quotient("height", m + groups - Extent(1), groups);
    const Expr filled = ir::binary(BinaryOp::kDiv, write_.expr(m + height - Extent(1)),
                                   ir::binary(BinaryOp::kMax, write_.expr(height), ir::constant_i64(1)));
    return {height, write_.number("row_blocks", filled)};
  }

  /// R of each block, and Q and R of all these stacked: blocks of n x n rows, the last one R.
  ValueId tree(ValueId a, const RowBlocks& blocks) {
    const Extent& n = shape_[1];
    StepWriter::Prebuilt factors{"block_r", {{"g", blocks.count}, {"i", n}, {"j", n}}, {false, true, true}, {}, {blocks.height}, false};
    factors.flops = 2;
    factors.factor = blocks.height;
    factors.tile = {Extent(1)};
    const ValueId stacked = write_.declare("stacked", scalar_, {blocks.count, n, n});
    const DimTemplate rows{{Term{0, blocks.height}}, Extent(0), blocks.height, false};
    write_.prebuilt_into(stacked, factors, {AccessTemplate{a, {rows, kAll}, "blocks of rows"}});
    StepWriter::Prebuilt joined{"qr", {{"g", blocks.count + Extent(1)}, {"i", n}, {"j", n}}, {true, true, true},
                                {{stacked, {kWhole, kWhole, kWhole}}}, {}, true};
    joined.flops = 2;
    joined.factor = n;
    return write_.prebuilt("joined", scalar_, joined);
  }

  void qr() {
    const RowBlocks blocks = row_blocks();
    const ValueId joined = tree(a_, blocks);
    const ValueId indirect = builder_.new_value({Scalar::kBool, {}, {}}, "indirect", routine_.range, true);
    builder_.add(routine_.range, IndirectQrStep{indirect, shape_[0], shape_[1], blocks.count});
    const auto direct = [&](const std::vector<ValueId>& results) { direct_q(results, joined, blocks); };
    write_.either(indirect, routine_.results, [&](const std::vector<ValueId>& results) { indirect_q(results, joined, blocks, direct); }, direct);
  }

  /// Q of each block times its rows of the stack's Q.
  void direct_q(const std::vector<ValueId>& results, ValueId joined, const RowBlocks& blocks) {
    const Extent& n = shape_[1];
    StepWriter::Prebuilt last{"block_q", {{"i", shape_[0]}, {"j", n}}, {false, true}, {}, {blocks.height}, false};
    last.flops = 6;
    last.factor = n;
    last.tile = {blocks.height};
    const DimTemplate row{{Term{0, Extent(1)}}, Extent(0), Extent(1), false};
    const DimTemplate group{{Term{0, Extent(1)}}, Extent(0), Extent(1), false, blocks.height};
    write_.prebuilt_into(results[0], last, {AccessTemplate{a_, {row, kAll}, "rows"}, AccessTemplate{joined, {group, kAll, kAll}, "their factor"}});
    write_.map_into(results[1], {{"i", n}, {"j", n}}, write_.at(joined, {write_.expr(blocks.count), i(), j()}));
  }

  /// Q1 = A R^-1, and the same of Q1, which mends what the condition of A has cost. Where that is too much (R2 is not near
  /// the unit matrix) the direct form follows.
  void indirect_q(const std::vector<ValueId>& results, ValueId joined, const RowBlocks& blocks, const StepWriter::Form& direct) {
    const Extent& n = shape_[1];
    const ValueId q = over_r(a_, joined, blocks, "near_q");
    const ValueId again = tree(q, blocks);
    const Expr unit = ir::select(ir::binary(BinaryOp::kEq, i(), j()), one(), write_.zero(scalar_));
    const Expr off = minus(write_.at(again, {write_.expr(blocks.count), i(), j()}), unit);
    const ValueId far = write_.sum("far", {{"i", n}, {"j", n}}, times(off, off));
    const ValueId distance = builder_.on_host(far, routine_.range);
    const ValueId near = builder_.new_value({Scalar::kBool, {}, {}}, "near", routine_.range, true);
    builder_.add(routine_.range, HostStep{near, ir::binary(BinaryOp::kLt, ir::read(scalar_, distance, {}), ir::constant(scalar_, 0.25))});
    const auto mended = [&](const std::vector<ValueId>& values) {
      write_.name(values[0], over_r(q, again, blocks, "q"));
      const Expr left = write_.at(again, {write_.expr(blocks.count), i(), l()});
      const Expr right = write_.at(joined, {write_.expr(blocks.count), l(), j()});
      write_.name(values[1], write_.product("r", {{"i", n}, {"j", n}}, {"l", n}, times(left, right)));
    };
    write_.either(near, results, mended, direct);
  }

  /// `a` times the inverse of the tree's R.
  ValueId over_r(ValueId a, ValueId joined, const RowBlocks& blocks, const char* name) {
    const Extent& n = shape_[1];
    const ValueId lower = write_.map("r_transposed", {{"i", n}, {"j", n}}, write_.at(joined, {write_.expr(blocks.count), j(), i()}));
    StepWriter::Prebuilt divide{"triangular_rows", {{"i", shape_[0]}, {"j", n}}, {false, true}, {{a, {0, kWhole}}, {lower, {kWhole, kWhole}}}, {}, false};
    divide.factor = n;
    divide.tile = {blocks.height};
    return write_.prebuilt(name, scalar_, divide);
  }

  const DimTemplate kAll{{}, Extent(0), Extent(0), true};
  FamilyBuilder& builder_;
  const BlockedRoutine& routine_;
  StepWriter write_;
  ValueId a_;
  Scalar scalar_;
  std::vector<Extent> shape_;
};

}  // namespace

bool has_blocked_form(Kind kind) {
  return kind == Kind::kCholesky || kind == Kind::kLu || kind == Kind::kSolve || kind == Kind::kQr || kind == Kind::kCumsum;
}

void add_blocked_form(FamilyBuilder& builder, const BlockedRoutine& routine) {
  // What is gathered here is an even share of the matrix or one panel.
  const std::size_t warnings = builder.program().warnings.size();
  if (routine.kind == Kind::kTopk) {
    add_blocked_topk(builder, routine);
  } else {
    Blocked(builder, routine).run();
  }
  builder.set_run_ahead(std::nullopt);
  builder.program().warnings.resize(warnings);
}

}  // namespace tdsl::codegen
