#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/nest/facts.h"
#include "codegen/nest/nest.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/names.h"
#include "codegen/print/nests/print_cpp.h"
#include "codegen/print/nests/print_task.h"
#include "codegen/print/statements.h"

namespace tdsl::nest {

/// The nest as one expression of a point: the innermost statement in loops over all indices in order.
struct Point {
  std::vector<Let> lets;
  const Store* store = nullptr;  ///< null: a reduction
  std::optional<ir::Monoid> reduces{};
  Expr guard{};  ///< of the values reduced; may be null
  Expr value;
  bool vectors = false;
};

/// Name of an element: `a` for a tensor `A`, `value` for longer names.
[[nodiscard]] std::string element_name(const std::string& tensor);
/// The runtime's operator; for bools, `max` is `any`.
[[nodiscard]] std::string_view combine_name(ir::Monoid::Kind kind, bool of_bools);

/// Prints one nest as C++. Each part has its own file.
class Printer {
 public:
  Printer(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures);

  PrintedNest scalar_function();

  PrintedNest function();

  PrintedNest rows();

  PrintedNest task(const SourceLine& source_line);

  /// Used variables that live as long as a task: operands and results by number, then locals.
  [[nodiscard]] std::vector<ValueId> declared_first() const;

  std::optional<PrintedPoint> point(const Point& p);

 private:
  // --- Names

  /// Claims the function's parameter names before those of indices, which can be changed.
  std::vector<std::string> claim_names();

  /// The name is valid until the loop ends.
  std::string open_index(int k);
  void close_index(int k) { table_.release(index_name(k)); }
  [[nodiscard]] const std::string& index_name(int k) const { return expr_.labels()[static_cast<std::size_t>(k)]; }

  /// Name of an integer in sizes.
  std::string size_name(ValueId v);
  std::string captured(ValueId v);
  [[nodiscard]] std::string parameter(ValueId v) const;

  [[nodiscard]] std::string_view type_text(ValueId v) const { return codegen::cpp_type(nest_.variable(v).type.scalar); }
  const std::string& local_name(ValueId v);
  /// Name of a local defined here.
  const std::string& set_local(ValueId v, std::string name) { return locals_[v] = std::move(name); }

  /// `new_C` for the next value of another variable, which has this role and the same name and type.
  std::string claim_next(const Variable& variable, Variable::Role of);

  std::string view_name(const Variable& operand);

  std::string range_name(int index);

  [[nodiscard]] const Variable& operand(int number) const;
  [[nodiscard]] const Variable& result() const {
    return *std::ranges::find(nest_.variables, Variable::Role::kResult, &Variable::role);
  }
  std::string out_name();

  [[nodiscard]] std::string line_of(const ir::SourceRange& place) const {
    return codegen::place_text(place.known() ? place : place_.known() ? place_ : nest_.place);
  }
  /// One Faults per source line, so that a fused kernel reports the right one.
  std::string faults_name(const ir::SourceRange& place);

  // --- Elements

  std::string element(const ir::ExprNode& node, const std::vector<std::string>& subscripts);
  std::string inside(const std::string& subscript, ValueId v, const Bound& bound);
  std::string inside(const std::string& subscript, const Bound& bound);

  std::string place_text(const Place& place);

  /// Element of a tensor that the task modifies.
  std::string task_place(const Place& place);

  std::string let_text(const Let& let);

  /// An integer constant needs no type if it is assigned to or compared with an integer.
  std::string assigned(const Expr& e);

  /// For scalar functions; kernels contain no unused parts.
  [[nodiscard]] std::string_view unread(ValueId v) const {
    return nest_.form != Form::kFunction || read_.contains(v) ? "" : "[[maybe_unused]] ";
  }

  // --- Statements

  codegen::Statements statements(const Body& body);

  codegen::Statements statement(const Statement& s);

  /// For a local that starts as the identity of the reduction that follows, one statement replaces both:
  /// `double total = rt::rows::sum<double>(…);`, or `y(i) = …;` if the local is only read by the store after that.
  struct WholeReduction {
    codegen::Statement statement;
    std::size_t count = 0;  ///< number of statements of the nest that it replaces
  };
  std::optional<WholeReduction> whole_reduction(const Body& body, std::size_t k);
  /// The initial value of a local that holds this reduction only: the identity, or -1 for a position.
  static Expr first_value(const RowReduction& r);
  /// In tasks on whole tensors, opens the index of a statement with its own loop while `f` runs.
  template <class F>
  void in_task_index(int k, const F& f) {
    if (nest_.form == Form::kTask) static_cast<void>(open_index(k));
    f();
    if (nest_.form == Form::kTask) close_index(k);
  }
  /// The number of reads of the variable in expressions.
  [[nodiscard]] int times_read(ValueId v) const;

  codegen::Statements count(const Count& c);

  codegen::Statements repeat(const While& w);

  /// Begin and end of a loop over the range.
  std::pair<std::string, std::string> bounds(int index, const TaskRange& range);

  codegen::Statements extent_loop(const For& f, const Range& over);
  std::string range_text(int index, const TaskRange& range);

  codegen::Statements loop(const For& f);

  /// `rt::each_inner_simd(range_i, {.from = 1}, [&](auto interior, Index i) { … });`
  codegen::Statement parts(const For& f, const Parts& p, const std::string& range);
  std::string inner_text(const Parts& p);

  codegen::Statements start(const Start& s);

  std::string narrow(const Narrow& n);

  codegen::Statements branch(const If& i);
  std::string mine(const IsMine& m);

  std::string fill(const Fill& f);
  /// `const auto y = t.out_from<double, 1>(0.0);`, or `t.out<double, 1>()` if the output has no first value.
  static void declare_out(codegen::Writer& w, const std::string& name, const ir::Type& type, const std::string& first);

  // --- Reductions: print_reductions.cpp

  /// `target = combine(target, body)`. `argument`: name of a user monoid's second operand.
  codegen::Statements accumulation(const ir::Monoid& monoid, const Expr& body, ir::Scalar type,
                                   const std::string& target, const std::string& argument);
  std::string line(const LineReduction& l);
  /// `total += rt::lanes::sum_where<double>(range_k, [&](Index k) { return …; }, [&](Index k) { return d(k); });`
  std::string masked_line(const LineReduction& l);
  /// `total = scalar::add(total, rt::count_up_to(range_b, x(k), [&](Index b) { return low(b); }));`
  std::string search(const LineReduction& l);
  /// The call of rt::blocked_reduction and the functions it takes.
  codegen::Statements blocked(const BlockedReduction& b);
  /// Defines the function that combines an element with values, and `numbers`, one for values without nan and inf, if
  /// there is one. Returns its name.
  std::string add_combine(const BlockedReduction& b, ir::Scalar type, codegen::Statements& to, std::string& numbers);
  /// The conditions on row and column, each as a function behind a comma.
  std::string conditions(const BlockedReduction& b);
  /// The view of a tensor, if the values are its elements; else empty.
  std::string view_of(const BlockedReduction& b, int index, const std::vector<Let>& values);
  /// `[&](Index i, Index k) { return math::exp(A(i, k)); }`
  std::string values_text(const BlockedReduction& b, int index, const std::vector<Let>& values);
  /// The body of the scalar function that combines an element with values; `numbers`: for values without nan and inf.
  codegen::Statements combination(const BlockedReduction& b, ir::Scalar type, bool numbers);
  /// `return total + x * y;` for `total += x * y;`
  std::string returned(const std::string& assignment, const Expr& value);

  // --- Blocks of rows: print_rows.cpp

  codegen::Statements blocks(const For& f, const Blocks& over);
  /// Declares operands, results with their initial values, and per-block tensors. Call it after printing the
  /// statements, which determine the order of captures.
  std::string row_declarations();
  /// A tensor, or the part of it at leading subscripts.
  std::string part_text(const Place& place);
  std::string row_products(const RowProducts& p);
  std::string fill_rows(const FillRows& f);

  // --- Stored elements: print_stored.cpp

  /// The current element of a sparse iteration, or a lookup.
  std::string stored_element(const ir::ExprNode& node, const std::vector<std::string>& subscripts);
  [[nodiscard]] bool mentions_index(const For& f) const;
  codegen::Statements stored(const For& f, const Stored& over);
  codegen::Statements stored_rows(const For& f, const Stored& over);
  codegen::Statements stored_row(const For& f, const Stored& over);
  [[nodiscard]] bool is_whole(const For& f, const Fibre& fibre) const;
  codegen::Statements inside_range(int index, codegen::Statements body);
  std::string rows_text(const Stored& over);
  std::string row_text(const Fibre& fibre);
  const std::string& finder(int number, int outer);
  [[nodiscard]] bool stays(const std::vector<Expr>& subscripts) const;
  void add_marks(const For& f, codegen::Statements& body) const;
  codegen::Statements accumulated_row(const For& f, codegen::Statements body);
  std::string ahead_text(const std::vector<Place>& ahead, int index);
  [[nodiscard]] bool runs_over_rows(const For& f) const;
  std::string put_subscript(std::size_t dimension, const std::string& index);
  std::string put(const Store& s);
  std::string add_element(const Update& u);
  std::string put_entry(const Place& to, const Expr& value);
  /// The call that completes an assembled result: `finish(Combine::kSum)`.
  std::string assembled_finish();

  // --- Stored elements by value: print_by_value.cpp

  codegen::Statements by_value(const For& f, const Stored& over);
  codegen::Statements by_passes(const For& f, const Stored& over);
  codegen::Statements by_value_alone(const For& f, const For& elements, const Statement& update, const Body& lets,
                                     const std::set<ValueId>& of_row);
  codegen::Statements row_totals(const For& f, const For& elements, const std::string& head);
  codegen::Statements each_value(const For& elements, const std::string& head);
  codegen::Statements weighted_values(const For& f, const For& elements, const std::string& head);
  /// `head[&](Index j, double x, more) { … tail`: a function of a column, an element, and further parameters.
  codegen::Statement of_element(const For& elements, codegen::Statements body, const std::string& head,
                                const std::string& more, const std::string& tail);

  /// `In<double, 1> x`, `Index i`, `double rate`: unused ones are unnamed.
  std::vector<std::string> parameters_of(const Point& p);

  PrintedNest finished(std::string text);

  const Nest& nest_;
  Definitions definitions_;
  IndexArithmetic arithmetic_;
  std::set<ValueId> counters_;
  codegen::NameTable table_;
  PrintedNest printed_;
  std::map<ValueId, std::string> locals_;
  std::map<int, std::string> views_;                         ///< by operand number
  std::map<int, std::string> ranges_;                        ///< by index
  std::vector<std::pair<std::string, std::string>> faults_;  ///< emitted location, variable
  /// An active loop over a level of an operand.
  struct Walked {
    int number = 0;          ///< operand number
    std::vector<int> outer;  ///< indices of the levels above
    int index = 0;
    std::string name;   ///< of the level below, or of the element
    bool read = false;  ///< true if the element is used
  };
  std::vector<Walked> walks_;
  std::map<std::pair<int, int>, std::string> finders_;  ///< of rows, by operand number and index
  std::map<std::pair<int, int>, std::string> marked_;   ///< likewise, rows in which elements are looked up
  std::string sums_;                                    ///< of an updated row of a compressed result
  std::string count_;                                   ///< how often an update is repeated
  std::string out_name_;
  std::string declarations_;  ///< in nests of rows
  std::set<ValueId> read_;    ///< for functions and tasks
  std::set<ValueId> kept_;    ///< tensors declared at their copy
  SourceLine source_line_;
  std::uint32_t last_line_ = 0;
  ir::SourceRange place_;  ///< of the last statement that has one
  codegen::ExprEmitter expr_;
  Spelling spelling_{nest_,
                     expr_,
                     [this](ValueId v) { return local_name(v); },
                     [this](int k) { return index_name(k); },
                     [this](const Place& p) { return place_text(p); },
                     [this](const ir::SourceRange& r) { return line_of(r); },
                     [this](int k, const TaskRange& r) { return range_text(k, r); },
                     [this](const Let& l) { return let_text(l); }};
};

}  // namespace tdsl::nest
