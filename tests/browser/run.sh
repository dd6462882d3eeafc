#!/bin/sh
# Runs one of this folder's test files under node; exit 77 (skipped) names what this machine lacks.
#
#   run.sh model_test.mjs | page_test.mjs | store_test.mjs
here=$(dirname "$0")
skip() { echo "SKIPPED: $1"; exit 77; }
command -v node >/dev/null 2>&1 || skip "node is missing (tools/setup.sh npm brings it)"
if [ "$1" != model_test.mjs ]; then
  [ -e "$here/../../build/playwright/node_modules/playwright-core/package.json" ] ||
    skip "playwright-core is missing (tools/fetch_page.sh tests brings it)"
  [ -e "$here/../../build/page/uplot.js" ] || skip "the page's libraries are missing (tools/fetch_page.sh brings them)"
  [ -x "${ASSAY_CHROMIUM:-/usr/bin/chromium}" ] || skip "chromium is missing (tools/setup.sh test brings it)"
fi
if [ "$1" = store_test.mjs ]; then
  for program in assay-publish assay-view; do
    [ -x "$ASSAY_BIN_DIR/$program" ] || skip "$program is not built (tools/fetch_arrow.sh and tools/fetch_page.sh bring what it needs)"
  done
fi
exec node --test "$here/$1"
