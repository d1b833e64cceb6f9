#pragma once

namespace tdsl::tools {

/// `tdslc --version`: "tdslc 0.2.0 (v0.2.0-14-gabc1234)", or without the parenthesis if the sources are no repository.
/// Emitted code names only the version, since its text decides whether an executable is found in the cache.
extern const char* const kVersionText;

}  // namespace tdsl::tools
