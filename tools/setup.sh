#!/usr/bin/env bash
# Installs what a command of this project needs and the machine lacks. The only place that installs.
#
#   tools/setup.sh build     compiler, CMake, libraries        (./quickstart)
#   tools/setup.sh test      build, and what the tests need    (./test)
#   tools/setup.sh python    build/venv with the standard library only (model download, peers)
#   tools/setup.sh npm       Node.js and its package manager (the libraries of the viewer's page)
#
# On Debian and its relatives missing packages are installed with apt-get, as root or through sudo. Elsewhere
# they are named and nothing is guessed: exit 4.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf 'setup: %s\n' "$*" >&2; }

build_packages=(g++ cmake ninja-build git ca-certificates rapidjson-dev libcli11-dev libssl-dev libvalijson-dev
                libcurl4-openssl-dev libcpp-httplib-dev libboost1.81-dev)
test_packages=(libgtest-dev libgmock-dev librapidcheck-dev libsimde-dev clang-format nodejs chromium)
python_packages=(python3 python3-venv)
npm_packages=(nodejs npm)

case "${1:-}" in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}" "${python_packages[@]}") ;;
  python) wanted=("${python_packages[@]}") ;;
  npm) wanted=("${npm_packages[@]}") ;;
  *) say "usage: tools/setup.sh build|test|python|npm"; exit 2 ;;
esac

# A package counts as there when dpkg says so, or, without dpkg, when what it brings is found.
there() {
  if command -v dpkg-query >/dev/null 2>&1; then
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] && return 0
  fi
  header() { local d; for d in /usr/include /usr/local/include; do [ -e "$d/$1" ] && return 0; done; return 1; }
  case "$1" in
    g++|cmake|git|clang-format|chromium) command -v "$1" >/dev/null 2>&1 ;;
    nodejs) command -v node >/dev/null 2>&1 ;;
    npm) command -v npm >/dev/null 2>&1 ;;
    ninja-build) command -v ninja >/dev/null 2>&1 ;;
    python3) command -v python3 >/dev/null 2>&1 ;;
    python3-venv) python3 -c 'import ensurepip, venv' >/dev/null 2>&1 ;;
    ca-certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] ;;
    rapidjson-dev) header rapidjson/reader.h ;;
    libcli11-dev) header CLI/CLI.hpp ;;
    libssl-dev) header openssl/evp.h ;;
    libgtest-dev) header gtest/gtest.h ;;
    libgmock-dev) header gmock/gmock.h ;;
    libsimde-dev) header simde/x86/avx512.h ;;
    librapidcheck-dev) header rapidcheck.h ;;
    libvalijson-dev) header valijson/validator.hpp ;;
    libcurl4-openssl-dev) header curl/curl.h || header "$(uname -m)-linux-gnu/curl/curl.h" ;;
    libcpp-httplib-dev) header httplib.h ;;
    libboost1.81-dev) header boost/beast.hpp ;;
    *) return 1 ;;
  esac
}

missing=()
for package in "${wanted[@]}"; do there "$package" || missing+=("$package"); done

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null 2>&1; then
    say "missing (Debian names): ${missing[*]}"
    say "install them with this system's package manager, then run again"
    exit 4
  fi
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      say "missing: ${missing[*]}; installing needs root or sudo"
      exit 4
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -q --no-install-recommends "${missing[@]}" >"$log" 2>&1
  }
  # The package lists of a fresh machine are empty or old: a failed first try refreshes them.
  if ! install; then
    if ! "${as_root[@]}" apt-get update -q >"$log" 2>&1 || ! install; then
      cat "$log" >&2
      say "could not install: ${missing[*]}"
      exit 4
    fi
  fi
fi

if [ "$1" = python ] || [ "$1" = test ]; then
  venv="$root/build/venv"
  if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    say "making build/venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
  fi
fi
