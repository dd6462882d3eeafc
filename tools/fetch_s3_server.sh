#!/usr/bin/env bash
# Object stores that others wrote, for tests/e2e/s3_servers_test.cpp. Prints the program's path.
#
#   tools/fetch_s3_server.sh moto               PyPI, into build/s3/moto; does not check signatures. Beside it the
#                                               hub's own client, for tests/e2e/hub_peer_test.cpp
#   tools/fetch_s3_server.sh versitygw build    built from its Go module into build/s3/bin; checks them
#   tools/fetch_s3_server.sh versitygw          the one that was built before, if any
#
# What is there is used again; nothing outside build/ is touched. Exit 4 when it cannot be had.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder="$root/build/s3"
mkdir -p "$folder"

say() { printf 'fetch_s3_server: %s\n' "$*" >&2; }
fail() { tail -n 20 "$folder/$1.log" >&2 || true; say "could not get $1 (build/s3/$1.log)"; exit 4; }

case "${1:-}" in
  moto)
    # The server needs Flask beside the S3 part; the package's own "server" extra brings every service.
    wanted="moto[s3]==5.2.5 flask==3.1.3 flask-cors==6.0.5 werkzeug==3.1.9 huggingface-hub==0.36.2"
    stamp="$folder/moto/.installed"
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
      say "installing $wanted"
      "$root/tools/setup.sh" python
      rm -rf "$folder/moto"
      # shellcheck disable=SC2086
      { python3 -m venv "$folder/moto" && "$folder/moto/bin/python" -m pip install -q $wanted; } \
        >"$folder/moto.log" 2>&1 || fail moto
      printf '%s' "$wanted" >"$stamp"
    fi
    echo "$folder/moto/bin/moto_server"
    ;;
  versitygw)
    version=v1.8.0
    program="$folder/bin/versitygw-$version"
    if [ ! -x "$program" ]; then
      [ "${2:-}" = build ] || exit 4
      command -v go >/dev/null 2>&1 || { say "versitygw is built with Go, which is not here"; exit 4; }
      say "building versitygw $version"
      GOFLAGS=-modcacherw GOPATH="$folder/go" GOBIN="$folder/bin" GOTOOLCHAIN=local \
        go install -p 1 "github.com/versity/versitygw/cmd/versitygw@$version" >"$folder/versitygw.log" 2>&1 ||
        fail versitygw
      mv "$folder/bin/versitygw" "$program"
      rm -rf "$folder/go"
    fi
    echo "$program"
    ;;
  *) say "usage: tools/fetch_s3_server.sh moto|versitygw"; exit 2 ;;
esac
