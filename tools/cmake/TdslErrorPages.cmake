# cmake -D ERRORS=docs/errors.md -D IMPORT=docs/import.md -D OUTPUT=FILE.cpp -P: the pages of `tdslc --explain` as C++ strings.
file(READ ${ERRORS} errors)
file(READ ${IMPORT} import)
file(WRITE ${OUTPUT} "#include \"tools/tdslc/error_pages.h\"\n\nnamespace tdsl::tools {\n
const std::string_view kErrorsPage = R\"~~~(${errors})~~~\";\n
const std::string_view kImportPage = R\"~~~(${import})~~~\";\n\n}  // namespace tdsl::tools\n")
