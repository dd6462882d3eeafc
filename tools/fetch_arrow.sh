#!/usr/bin/env bash
# Prints the folder of an Apache Arrow C++ to build with (build/arrow/pyarrow): headers and shared libraries out of
# the pinned pyarrow wheel. The whole package is kept: the tests read shards with it too.
set -euo pipefail
folder=$("$(dirname "${BASH_SOURCE[0]}")/fetch_wheel.sh" arrow pyarrow==26.0.1 \
  55016622 39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c)
printf '%s/pyarrow\n' "$folder"
