#!/usr/bin/env bash
# Prints the folder of an Apache Arrow C++ to build with: headers and shared libraries out of the pinned pyarrow
# wheel, unpacked into build/arrow. Size and SHA-256 are checked before anything is unpacked.
#
#   tools/fetch_arrow.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { printf 'fetch_arrow: %s\n' "$*" >&2; }

requirement=pyarrow==26.0.1
wheel_bytes=55016622
wheel_sha256=39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c

target="$root/build/arrow"
if [ -e "$target/pyarrow/include/arrow/api.h" ] && [ "$(cat "$target/wheel.sha256" 2>/dev/null)" = "$wheel_sha256" ]; then
  printf '%s\n' "$target/pyarrow"
  exit 0
fi
if [ "$(uname -m)" != x86_64 ]; then
  say "the pinned wheel is for x86_64, this machine is $(uname -m)"
  exit 4
fi

"$root/tools/setup.sh" python
mkdir -p "$root/build"
work=$(mktemp -d "$root/build/arrow.XXXXXX")
trap 'rm -rf "$work"' EXIT
say "downloading $requirement (52 MiB)"
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
# The whole package is kept: the tests read shards with it too.
"$root/build/venv/bin/python" - "$wheel" "$work/out" <<'PY'
import sys, zipfile
zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])
PY
printf '%s' "$wheel_sha256" >"$work/out/wheel.sha256"
rm -rf "$target"
mv "$work/out" "$target"
printf '%s\n' "$target/pyarrow"
