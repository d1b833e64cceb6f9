#include "frontend/lower/prelude.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "frontend/lower/functions/instances.h"
#include "frontend/lower/functions/points.h"
#include "frontend/lower/lowering.h"
#include "frontend/syntax/parse.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

namespace {

struct BuiltInSource {
  const char* name;
  const char* text;
};

// These functions may only use names that a program cannot redefine.
constexpr std::array kSources = {
    BuiltInSource{"permutation", R"(
fn permutation(i: i64, n: i64, key: i64) -> i64 {
  // A Feistel network over a rows of b places, applied until the place is below n. a is even, else all permutations of
  // a * b places would be even ones.
  let b = i64(sqrt(f64(n))) + 1;
  let rows = (n + b - 1) / b;
  let a = rows + rows % 2;
  let rounds = if n < 1024 then 12 else 4;
  var place = i;
  var outside = true;
  while outside {
    var row = place / b;
    var column = place % b;
    for r in 0..rounds {
      row = (row + i64(random(key=key + 2 * r * (a + b) + column) * f64(a))) % a;
      column = (column + i64(random(key=key + (2 * r + 1) * (a + b) + row) * f64(b))) % b;
    }
    place = row * b + column;
    outside = place >= n;
  }
  return place;
}
)"},
    BuiltInSource{"searchsorted_left", R"(
fn searchsorted_left[T](v: T[n], x: T) -> i64 {
  var low = 0;
  var high = n;
  while low < high {
    let middle = (low + high) / 2;
    if v[middle] < x || (isnan(x) && !isnan(v[middle])) { low = middle + 1; } else { high = middle; }
  }
  return low;
}
)"},
    BuiltInSource{"searchsorted_right", R"(
fn searchsorted_right[T](v: T[n], x: T) -> i64 {
  var low = 0;
  var high = n;
  while low < high {
    let middle = (low + high) / 2;
    if v[middle] <= x || isnan(x) { low = middle + 1; } else { high = middle; }
  }
  return low;
}
)"},
    BuiltInSource{"interp", R"(
fn interp[T](x: T, xp: T[n], fp: T[n]) -> T {
  var low = 0;
  var high = n;
  while low < high {
    let middle = (low + high) / 2;
    if xp[middle] <= x { low = middle + 1; } else { high = middle; }
  }
  var y = x;
  if !isnan(x) {
    if low == 0 { y = fp[0]; }
    else if low >= n { y = fp[n - 1]; }
    else { y = fp[low - 1] + (x - xp[low - 1]) * ((fp[low] - fp[low - 1]) / (xp[low] - xp[low - 1])); }
  }
  return y;
}
)"},
    BuiltInSource{"bins_of", R"(
fn bins_of(x: f64[n], lo: f64, hi: f64, bins: i64) -> i64[n] {
  assert(lo < hi, "histogram needs lo < hi");
  let width = (hi - lo) / f64(bins);
  let guess[i] = if x[i] >= lo && x[i] <= hi then min(i64(floor((x[i] - lo) / width)), bins - 1) else -1;
  let below[i] = if guess[i] > 0 && x[i] < lo + f64(guess[i]) * width then guess[i] - 1 else guess[i];
  let above[i] = below[i] >= 0 && below[i] < bins - 1 && x[i] >= lo + f64(below[i] + 1) * width;
  let bin[i] = if above[i] then below[i] + 1 else below[i];
  return bin;
}
)"},
    BuiltInSource{"histogram", R"(
fn histogram(bin: i64[n], bins: i64) -> i64[bins] {
  let H[bin[i]]: i64[bins] += 1 where bin[i] >= 0;
  return H;
}
)"},
    BuiltInSource{"histogram_weighted", R"(
fn histogram_weighted[T](bin: i64[n], bins: i64, w: T[n]) -> T[bins] {
  let H[bin[i]]: T[bins] += w[i] where bin[i] >= 0;
  return H;
}
)"},
    BuiltInSource{"bincount", R"(
fn bincount(x: i64[n], k: i64) -> i64[k] {
  let bincount[x[i]]: i64[k] += 1;
  return bincount;
}
)"},
    BuiltInSource{"bincount_weighted", R"(
fn bincount_weighted[T](x: i64[n], k: i64, w: T[n]) -> T[k] {
  let bincount[x[i]]: T[k] += w[i];
  return bincount;
}
)"},
    BuiltInSource{"first_of_equals", R"(
fn first_of_equals[T](s: T[n]) -> bool[n] {
  let first[i]: bool[n] = if i == 0 then true else s[i] != s[i - 1] && !(isnan(s[i]) && isnan(s[i - 1]));
  return first;
}
)"},
    BuiltInSource{"group_numbers", R"(
fn group_numbers(order: i64[n], running: i64[n]) -> i64[n] {
  let group[order[t]]: i64[n] += running[t] - 1;
  return group;
}
)"},
    BuiltInSource{"group_counts", R"(
fn group_counts(first: i64[k], n: i64) -> i64[k] {
  let number[j]: i64[k] = (if j + 1 < k then first[j + 1] else n) - first[j];
  return number;
}
)"},
    // Of the keys of a and behind them those of b, which `s` has in ascending `order`: for each element of a the number
    // of equal ones of b, and their first place among the places of b by key, which are the last result.
    BuiltInSource{"join_partners", R"(
fn join_partners[T](order: i64[t], s: T[t], n: i64, m: i64) -> (i64[n], i64[n], i64[m]) {
  let other[i]: i64[t] = if order[i] >= n then 1 else 0;
  let before = cumsum(other);
  let first[i]: i64[t] = if i == 0 then 1 else if s[i] != s[i - 1] then 1 else 0;
  let run = cumsum(first);
  let others[run[i] - 1]: i64[t] += other[i];
  let equal[i] = if isnan(s[i]) then 0 else others[run[i] - 1];
  let number[order[i]]: i64[n] += equal[i] where order[i] < n;
  let start[order[i]]: i64[n] += before[i] where order[i] < n;
  let place[before[i] - 1]: i64[m] += order[i] - n where order[i] >= n;
  return (number, start, place);
}
)"},
    BuiltInSource{"join_least_one", R"(
fn join_least_one(number: i64[n]) -> i64[n] {
  let wanted[i] = if number[i] == 0 then 1 else number[i];
  return wanted;
}
)"},
    BuiltInSource{"join_marks", R"(
fn join_marks(wanted: i64[n], running: i64[n], m: i64) -> i64[m] {
  let mark[running[i] - wanted[i]]: i64[m] += i where wanted[i] > 0;
  return mark;
}
)"},
    BuiltInSource{"join_others", R"(
fn join_others(row: i64[m], wanted: i64[n], running: i64[n], number: i64[n], start: i64[n], place: i64[k]) -> i64[m] {
  let base[i] = if number[i] == 0 then -1 else start[i] - (running[i] - wanted[i]);
  let has[i] = number[i] > 0;
  let from[t] = base[row[t]];
  let at[t] = if has[row[t]] then from[t] + t else -1;
  let other[t] = if at[t] >= 0 then place[at[t]] else -1;
  return other;
}
)"},
};

/// The function, with all of its places at the call, so that messages point there.
ast::Function source_of(Lowerer& lowerer, const std::string& name, const SourceRange& range) {
  const auto* source = std::ranges::find(kSources, name, &BuiltInSource::name);
  TDSL_CHECK(source != kSources.end(), "a function of the prelude");
  SourceManager sources;
  const std::uint32_t file = sources.add("<built in>", source->text);
  const std::optional<ast::Module> parsed = parse_file(sources, file, lowerer.reports.sink(), &range);
  TDSL_CHECK(parsed && parsed->statements.size() == 1, "a source of the prelude is one function without errors");
  return std::get<ast::Function>(parsed->statements.front()->node);
}

}  // namespace

std::vector<Tensor> call_prelude_for_all(Lowerer& lowerer, const std::string& name, const std::vector<Tensor>& args,
                                         const SourceRange& range, const std::vector<std::int32_t>& points) {
  ast::Function& f = lowerer.inlining.built_in.emplace_back(source_of(lowerer, name, range));
  // A name that no program can have.
  f.name.name += " of " + std::string(ir::name_of(args.front().scalar()));
  FunctionEntry& entry = lowerer.declared.functions[f.name.name];
  entry.function = &f;
  entry.range = f.name.range;
  entry.called = entry.sound = true;
  bind_instance(lowerer, f, args, range);
  ast::Call call{{f.name.name, range}, {}};
  for (const Tensor& t : args) call.arguments.push_back({std::nullopt, nullptr, t.range});
  return inline_body(lowerer, f, args, call, range, points);
}

Tensor call_prelude(Lowerer& lowerer, const std::string& name, const std::vector<Tensor>& args,
                    const SourceRange& range, const std::vector<std::int32_t>& points) {
  const std::vector<Tensor> results = call_prelude_for_all(lowerer, name, args, range, points);
  TDSL_CHECK(results.size() == 1, "a function of the prelude has one result");
  return results[0];
}

Tensor call_prelude_for_each(Lowerer& lowerer, const std::string& name, const std::vector<Tensor>& args,
                             Tensor elements, const SourceRange& range) {
  const bool closed = std::ranges::all_of(args, [&](const Tensor& t) {
    return std::ranges::all_of(free_labels(t), [&](std::int32_t id) {
      return std::ranges::find(elements.labels, id) != elements.labels.end();
    });
  });
  const Restored<Guards> guards(lowerer.guards, closed ? lowerer.guards.of_whole_tensors() : lowerer.guards);
  elements.body = call_prelude(lowerer, name, args, range, elements.labels).body;
  lowerer.graph.flush();
  return elements;
}

}  // namespace tdsl::frontend
