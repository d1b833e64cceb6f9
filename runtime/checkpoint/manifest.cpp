#include "runtime/checkpoint/manifest.h"

#include <algorithm>
#include <span>

#include "runtime/checkpoint/path_text.h"
#include "runtime/io/checksum.h"

namespace tdsl::rt::checkpoint {

namespace {

constexpr std::string_view kFormat = "tdsl-checkpoint ", kVersion = "7";

std::uint64_t sum_of(std::string_view text) { return checksum(std::as_bytes(std::span(text))); }

/// Position of the checksum at the end. Throws Damaged unless it matches the text before it.
std::size_t sealed_end(std::string_view text) {
  const std::size_t last = text.rfind("sum ");
  if (last == std::string_view::npos || !text.ends_with('\n')) throw Damaged("truncated");
  TextReader end(text.substr(last));
  end.expect("sum");
  if (end.bits() != sum_of(text.substr(0, last)) || !end.at_end()) throw Damaged("checksum mismatch");
  return last;
}

/// Version in the first line; empty: none.
std::string_view version_of(std::string_view text) {
  if (!text.starts_with(kFormat)) return {};
  text.remove_prefix(kFormat.size());
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits < text.size() && text[digits] == '\n' ? text.substr(0, digits) : std::string_view();
}

void require_version(std::string_view text) {
  const std::string_view version = version_of(text);
  if (version.empty()) throw Damaged("not a checkpoint manifest");
  if (version == kVersion) return;
  // If the checksum matches with our version substituted, the text was written with our version.
  const std::string as_ours =
      std::string(kFormat).append(kVersion).append(text.substr(kFormat.size() + version.size()));
  try {
    static_cast<void>(sealed_end(as_ours));
  } catch (const Damaged&) {
    throw OtherVersion("its manifest has format " + std::string(version) + ", and this program reads format " +
                       std::string(kVersion));
  }
  throw Damaged("checksum mismatch");
}

// Each function below writes a part of the manifest, or reads it.

template <class Text, class List>
void spell_facts(Text& text, std::string_view name, List& facts) {
  text.word(name);
  list(
      text, facts, [&](auto& fact) { text.string(fact.first).string(fact.second).line(); }, true);
}

void spell_place(TextWriter& out, const std::optional<plan::Distribution>& where) {
  where ? spell(out, *where) : void(out.word("none"));
  out.line();
}
void spell_place(TextReader& in, std::optional<plan::Distribution>& where) {
  if (!in.next_is("none")) spell(in, where.emplace());
}

void spell_home(TextWriter& out, plan::Home home) { out.word(name_of(home)); }
void spell_home(TextReader& in, plan::Home& home) {
  const std::string_view word = in.word();
  for (const plan::Home known : {plan::Home::kMemory, plan::Home::kDisk, plan::Home::kFile}) {
    if (word != name_of(known)) continue;
    home = known;
    return;
  }
  in.fail("invalid home `" + std::string(word) + "` of a tensor");
}

template <class Text, class Tensor>
void spell_tensor(Text& text, Tensor& t) {
  either(text, "again", "saved", t.recorded_again);
  spell(text, t.known);
  text.word("where");
  spell_place(text, t.where);
  text.word("copy");
  spell_place(text, t.copy);
  if (t.copy) {
    text.word("readers");
    list(text, t.readers, [&](auto& site) { text.number(site); });
    text.line();
  }
  text.word("site").number(t.site).word("home");
  spell_home(text, t.housing.home);
  text.number(t.housing.resident_tiles).line();
  if (t.recorded_again) return;
  text.word("base").number(t.base).word("blocks");
  spell(text, t.saved);
  text.line();
}

template <class Text, class List>
void spell_files(Text& text, List& files) {
  text.word("files");
  list(
      text, files, [&](auto& file) { text.number(file.bytes).bits(file.footer).line(); }, true);
}

template <class Text, class Whole>
void spell_manifest(Text& text, Whole& m) {
  text.word("number").number(m.number).line();
  spell_facts(text, "identity", m.identity);
  spell_facts(text, "setting", m.setting);
  text.word("plan").string(m.plan).line().word("machine").string(m.machine).line();
  text.word("memory").number(m.memory).word("seconds").real(m.seconds);
  text.word("predicted").real(m.predicted).word("done").real(m.done).line();
  spell(text, m.path);
  text.word("series");
  list(
      text, m.series, [&](auto& series) { text.string(series.name).number(series.records).string(series.text).line(); },
      true);
  text.word("tensors");
  list(
      text, m.tensors, [&](auto& tensor) { spell_tensor(text, tensor); }, true);
  spell_files(text, m.files);
  text.word("bases");
  const auto base = [&](auto& base) {
    text.number(base.number);
    spell_files(text, base.files);
  };
  list(text, m.bases, base, true);
}

}  // namespace

const LiveTensor* Manifest::find(plan::TensorId id) const {
  const auto found = std::ranges::find(tensors, id, [](const LiveTensor& t) { return t.known.desc.id; });
  return found == tensors.end() ? nullptr : &*found;
}

const SavedSeries* Manifest::find_series(std::string_view name) const {
  const auto found = std::ranges::find(series, name, &SavedSeries::name);
  return found == series.end() ? nullptr : &*found;
}

const std::vector<FileSeal>& Manifest::files_of(std::int64_t base) const {
  const auto found = std::ranges::find(bases, base, &Base::number);
  return found == bases.end() ? files : found->files;
}

std::string print(const Manifest& m) {
  TextWriter out;
  out.word(std::string(kFormat).append(kVersion)).line();
  spell_manifest(out, m);
  TextWriter end;
  end.word("sum").bits(sum_of(out.text())).line();
  return out.text() + end.text();
}

Manifest parse_manifest(std::string_view text) {
  require_version(text);
  const std::size_t last = sealed_end(text), first = kFormat.size() + kVersion.size();
  TextReader in(text.substr(first, last - first));
  Manifest m;
  spell_manifest(in, m);
  for (const LiveTensor& t : m.tensors) {
    if (t.base != 0 && std::ranges::find(m.bases, t.base, &Base::number) == m.bases.end())
      in.fail("no base " + std::to_string(t.base));
  }
  if (!in.at_end()) in.fail("trailing data");
  return m;
}

std::string difference(const Facts& then, const Facts& now) {
  const auto value = [](const Facts& facts, const std::string& name) {
    const auto found = std::ranges::find(facts, name, [](const auto& fact) { return fact.first; });
    return found == facts.end() ? std::string("absent") : found->second;
  };
  for (const Facts* const facts : {&then, &now}) {
    for (const auto& [name, _] : *facts) {
      const std::string before = value(then, name), after = value(now, name);
      if (before != after) return name + " was " + before + ", is now " + after;
    }
  }
  return {};
}

}  // namespace tdsl::rt::checkpoint
