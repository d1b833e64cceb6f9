#!/bin/sh
# The language server: replayed sessions, random edits; Neovim where it is installed; with --long more edits, latency and VS Code's extension.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
export TDSL_MACHINE= # plans with the built-in constants of a machine
extra="--edits 300"
case "$TDSL_TEST_MODE" in
    quick) extra="--edits 60" ;;
    long) extra="--edits 10000 --seed $(date +%s) --latency" ;;
esac
code=0
# shellcheck disable=SC2086
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/lsp/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" $extra || code=1
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/lsp/editors.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" --mode "$TDSL_TEST_MODE" || code=1
exit "$code"
