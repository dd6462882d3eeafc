#!/usr/bin/env bash
# Prints the folder of the pinned DuckDB for Python (build/duckdb): the tests read our shards with it and have us
# read its files.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/fetch_wheel.sh" duckdb duckdb==2.0.1 \
  24925733 eb32b389d99d14cbbec4c110f58237c77eacefc65ef6f737619f413c97a91a77
