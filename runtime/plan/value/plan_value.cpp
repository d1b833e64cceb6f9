#include "runtime/plan/value/plan_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace tdsl::plan {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

std::string hex(std::uint64_t x) {
  std::array<char, 17> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), x, 16).ptr;
  return {digits.data(), end};
}

/// A left-to-right parser of a line.
class Line {
 public:
  Line(std::string_view text, std::size_t number) : rest_(text), number_(number) {}

  [[noreturn]] void fail(const std::string& message) const {
    throw std::runtime_error("line " + std::to_string(number_) + ": " + message);
  }
  [[nodiscard]] bool ended() {
    skip_blanks();
    return rest_.empty();
  }
  std::string_view word() {
    skip_blanks();
    const std::string_view taken = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void expect(std::string_view wanted) {
    if (word() != wanted) fail("`" + std::string(wanted) + "` is missing");
  }
  template <class T>
  T number(int base = 10) {
    const std::string_view text = word();
    T value{};
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size())
      fail("`" + std::string(text) + "` is not a number");
    return value;
  }
  std::string string() {
    skip_blanks();
    if (rest_.empty() || rest_.front() != '"') fail("a name in quotes is missing");
    std::string out;
    for (std::size_t k = 1; k < rest_.size(); ++k) {
      if (rest_[k] == '"') {
        rest_.remove_prefix(k + 1);
        return out;
      }
      if (rest_[k] == '\\' && k + 1 < rest_.size()) ++k;
      out += rest_[k];
    }
    fail("a quote is missing");
  }
  std::string remainder() {
    skip_blanks();
    return std::string(std::exchange(rest_, {}));
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
  std::size_t number_;
};

constexpr Index kMostRanks = Index{1} << 20;

/// After the word mesh.
Mesh parse_mesh(Line& line) {
  Mesh mesh;
  while (!line.ended()) {
    std::string_view word = line.word();
    if (word.size() < 5 || word[0] != static_cast<char>('a' + mesh.axes.size()) || word[1] != ':')
      line.fail("an axis is malformed");
    MeshAxis axis;
    if (word.back() == '*') {
      axis.inside_node = true;
      word.remove_suffix(1);
    }
    const std::size_t slash = word.find('/');
    if (slash == std::string_view::npos) line.fail("an axis has no stride");
    const auto read = [&](std::string_view text) {
      Index value = 0;
      const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
      if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < 1 || value > kMostRanks)
        line.fail("an axis is malformed");
      return value;
    };
    axis.size = read(word.substr(2, slash - 2));
    axis.stride = read(word.substr(slash + 1));
    mesh.axes.push_back(axis);
    if (mesh.axes.size() > kMeshAxes) line.fail("a mesh has at most three axes");
  }
  // Ranks must have unique coordinates: each axis strides over those with smaller strides.
  std::vector<MeshAxis> ascending = mesh.axes;
  std::stable_sort(ascending.begin(), ascending.end(),
                   [](const MeshAxis& a, const MeshAxis& b) { return a.stride < b.stride; });
  Index stride = 1;
  for (const MeshAxis& axis : ascending) {
    if (axis.stride != stride)
      line.fail("the axes do not number the ranks: a stride should be " + std::to_string(stride));
    stride *= axis.size;
  }
  return mesh;
}

/// Returns the site.
int parse_decision(Line& line, std::size_t number, PlanValue& plan, std::string_view first) {
  int site = 0;
  const auto result = std::from_chars(first.data(), first.data() + first.size(), site);
  if (result.ec != std::errc() || result.ptr != first.data() + first.size() || site < 1)
    line.fail("`" + std::string(first) + "` is no site");
  Decision decision;
  decision.kind = line.word();
  decision.name = line.string();
  std::string layouts = line.remainder();
  if (const std::size_t keep = layouts.find(" keep "); keep != std::string::npos) {
    std::string copy = layouts.substr(keep + 6);
    layouts.resize(keep);
    const std::size_t readers = copy.find(" for ");
    if (readers == std::string::npos) line.fail("the readers of a kept copy are missing");
    Line sites(std::string_view(copy).substr(readers + 5), number);
    while (!sites.ended()) decision.readers.push_back(sites.number<int>());
    if (decision.readers.empty()) line.fail("the readers of a kept copy are missing");
    copy.resize(readers);
    decision.copy = std::move(copy);
  }
  if (const std::size_t turn = layouts.find(" turn "); turn != std::string::npos) {
    Line ranks(std::string_view(layouts).substr(turn + 6), number);
    decision.turn = ranks.number<Index>();
    if (decision.turn < 1 || decision.turn >= plan.ranks || !ranks.ended()) line.fail("a turn is malformed");
    layouts.resize(turn);
  }
  const std::size_t arrow = layouts.find(" -> ");
  decision.work = layouts.substr(0, arrow);
  if (arrow != std::string::npos) decision.result = layouts.substr(arrow + 4);
  if (decision.work.empty()) line.fail("a layout is missing");
  if (!plan.at.emplace(site, std::move(decision)).second)
    line.fail("site " + std::to_string(site) + " is decided twice");
  return site;
}

/// `SITE FORM`
int parse_choice(Line& line, PlanValue& plan) {
  const int site = line.number<int>();
  const int form = line.number<int>();
  if (site < 1 || form < 0 || !line.ended()) line.fail("a choice is malformed");
  if (!plan.forms.emplace(site, form).second) line.fail("site " + std::to_string(site) + " is chosen twice");
  return site;
}

/// `memory BYTES DISK RESERVE`, `home SITE HOME TILES`
void parse_home(Line& line, PlanValue& plan, bool memory) {
  if (memory) {
    plan.memory = line.number<Index>();
    plan.disk = line.number<Index>();
    plan.reserve = line.number<Index>();
  } else {
    const int site = line.number<int>();
    const std::string_view word = line.word();
    Housing housing;
    for (const Home home : {Home::kDisk, Home::kFile}) housing.home = word == name_of(home) ? home : housing.home;
    if (housing.home == Home::kMemory) line.fail("`" + std::string(word) + "` is not a storage location");
    housing.resident_tiles = line.number<Index>();
    if (site < 1 || housing.resident_tiles < 0) line.fail("a home is malformed");
    if (!plan.homes.emplace(site, housing).second) line.fail("site " + std::to_string(site) + " has two homes");
  }
  if (plan.memory < 0 || !line.ended()) line.fail("a home is malformed");
}

void make_distinct(std::vector<std::string>& names) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::replace_if(
        names[k].begin(), names[k].end(),
        [](char c) { return c == ' ' || c == ':' || c == ',' || c == '(' || c == ')'; }, '_');
    while (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(k), names[k]) !=
           names.begin() + static_cast<std::ptrdiff_t>(k)) {
      names[k] += '\'';
    }
  }
}

}  // namespace

std::vector<std::string> result_names(const Op& op) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const int label = op.out[d].label;
    names.push_back(label >= 0 ? op.labels[idx(label)].name : std::to_string(d));
  }
  make_distinct(names);
  return names;
}

std::vector<std::string> slot_names(const Op& op) {
  std::vector<std::string> names = result_names(op);
  for (const ReduceLabel& r : op.reduce) names.push_back(op.labels[idx(r.label)].name);
  make_distinct(names);
  return names;
}

std::string mesh_line(const Mesh& mesh) {
  std::string text = "mesh";
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    const MeshAxis& axis = mesh.axes[a];
    text += std::string(" ") + static_cast<char>('a' + a) + ':' + std::to_string(axis.size) + '/' +
            std::to_string(axis.stride) + (axis.inside_node ? "*" : "");
  }
  return text;
}

Mesh parse_mesh_line(std::string_view text, std::size_t number) {
  Line line(text, number);
  line.expect("mesh");
  return parse_mesh(line);
}

std::string print(const PlanValue& plan) {
  std::string text = "tdsl plan 1\n";
  text += "program " + quoted(plan.program) + " region " + hex(plan.region) + " ranks " + std::to_string(plan.ranks) +
          " schedule " + (plan.schedule.empty() ? "none" : plan.schedule) + "\n";
  text += mesh_line(plan.mesh) + "\n";
  for (const auto& [site, decision] : plan.at) {
    text += std::to_string(site) + ' ' + decision.kind + ' ' + quoted(decision.name) + ' ' + decision.work;
    if (!decision.result.empty()) text += " -> " + decision.result;
    if (decision.turn > 0) text += " turn " + std::to_string(decision.turn);
    if (!decision.copy.empty()) {
      text += " keep " + decision.copy + " for";
      for (const int site : decision.readers) text += ' ' + std::to_string(site);
    }
    text += '\n';
  }
  for (const auto& [site, form] : plan.forms)
    text += "choose " + std::to_string(site) + ' ' + std::to_string(form) + '\n';
  if (plan.memory > 0)
    text += "memory " + std::to_string(plan.memory) + ' ' + std::to_string(plan.disk) + ' ' +
            std::to_string(plan.reserve) + '\n';
  for (const auto& [site, housing] : plan.homes) {
    text += "home " + std::to_string(site) + ' ' + name_of(housing.home) + ' ' +
            std::to_string(housing.resident_tiles) + '\n';
  }
  return text;
}

namespace {

void parse_program(Line& line, PlanValue& plan) {
  line.expect("program");
  plan.program = line.string();
  line.expect("region");
  plan.region = line.number<std::uint64_t>(16);
  line.expect("ranks");
  plan.ranks = line.number<Index>();
  if (plan.ranks < 1) line.fail("a plan is for one rank at least");
  line.expect("schedule");
  plan.schedule = line.word();
  if (plan.schedule.empty()) line.fail("the schedule is missing");
  if (plan.schedule == "none") plan.schedule.clear();
  if (!line.ended()) line.fail("`" + line.remainder() + "` is too much");
}

}  // namespace

PlanText read_plan(std::string_view text) {
  PlanText read;
  PlanValue& plan = read.plan;
  std::size_t number = 1;
  for (; !text.empty() || number <= kMeshLine; ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (number == 1) {
      if (line.remainder() != "tdsl plan 1") line.fail("this is no plan: it should begin with `tdsl plan 1`");
    } else if (number == kProgramLine) {
      parse_program(line, plan);
    } else if (number == kMeshLine) {
      line.expect("mesh");
      plan.mesh = parse_mesh(line);
      if (plan.mesh.ranks() != plan.ranks) line.fail("the mesh has not as many ranks as the plan");
    } else if (!line.ended()) {
      const std::string_view first = line.word();
      if (first == "memory" || first == "home") {
        parse_home(line, plan, first == "memory");
        continue;
      }
      read.lines.emplace(first == "choose" ? parse_choice(line, plan) : parse_decision(line, number, plan, first),
                         number);
    }
  }
  return read;
}

PlanValue parse_plan(std::string_view text) { return read_plan(text).plan; }

}  // namespace tdsl::plan
