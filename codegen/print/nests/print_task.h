#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "codegen/nest/nest.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/writer.h"

// Runtime calls for statements of tasks on whole tensors (runtime/kernels/elements.h, rows.h).

namespace tdsl::nest {

/// C++ spellings of a statement's parts.
struct Spelling {
  const Nest& nest;
  codegen::ExprEmitter& expr;
  std::function<std::string(ValueId)> name;                 ///< of a variable
  std::function<std::string(int)> index;                    ///< of an index
  std::function<std::string(const Place&)> place;           ///< an element
  std::function<std::string(const ir::SourceRange&)> line;  ///< of failures
  std::function<std::string(int, const TaskRange&)> range;  ///< of an index
  std::function<std::string(const Let&)> let;
};

/// `{n, m}` for a tensor with known extents.
[[nodiscard]] std::string extents_text(const Spelling& s, ValueId tensor);
/// `Interval{0, n}`
[[nodiscard]] std::string interval_text(const Spelling& s, const Range& r);

[[nodiscard]] std::string print(const Spelling& s, const CheckLine& c);
[[nodiscard]] std::string print(const Spelling& s, const RowReduction& r);
/// The value of the reduction alone, for a local that starts as the identity.
[[nodiscard]] std::string reduced(const Spelling& s, const RowReduction& r);
[[nodiscard]] std::string print(const Spelling& s, const AddProducts& p);
[[nodiscard]] std::string print(const Spelling& s, const Draw& d);
[[nodiscard]] std::string print(const Spelling& s, const RequireSizes& r, const ir::SourceRange& place);
[[nodiscard]] std::string print(const Spelling& s, const SmallRoutine& r, const ir::SourceRange& place);

/// Writes `const auto A = t.in<double, 2>(0);`, where `function` is `t.in`.
void declare_view(codegen::Writer& w, const std::string& name, std::string_view function, const ir::Type& type,
                  const std::string& arguments);
/// Writes `const auto A = rt::elements_in<double, 2>(t, 0);`, or the declaration of a tensor that lives as long as the
/// task; nothing for other variables.
void declare(codegen::Writer& w, const Spelling& s, ValueId v);

}  // namespace tdsl::nest
