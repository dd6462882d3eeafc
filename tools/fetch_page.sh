#!/usr/bin/env bash
# Prints the folder of the libraries that the viewer's page needs, as flat files beside each other: uPlot (charts),
# hyparquet and hyparquet-compressors with fzstd (shards). Size and SHA-256 of each package are checked before
# anything is unpacked; licences are kept as LICENSE.<package>.
#
#   tools/fetch_page.sh          build/page
#   tools/fetch_page.sh tests    build/playwright: what drives the browser in tests/browser
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { printf 'fetch_page: %s\n' "$*" >&2; }

# package version bytes sha256
page_packages="uplot 1.6.32 164279 4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d
hyparquet 1.33.0 74042 6af16c6ed33e983d6ee6e5e05b1ef3ae766efc22240fac3eb56ecd2ab5780e9b
hyparquet-compressors 1.1.2 82346 d0b146d31c35a8f51ee05358326fb833ff13347e64d7c61b8592e9de0a76c3cc
fzstd 0.1.1 20277 5ed2ee2d3439067be211d0093292c708a831045372342c897437e5a4997c45c5"
test_packages="playwright-core 1.65.1 3232772 6f5a60be62a4fddfbe7d10c448d8fbd54547da3358f2f8a04211440471ee863e"

case "${1:-page}" in
  page) target="$root/build/page" packages=$page_packages ;;
  tests) target="$root/build/playwright" packages=$test_packages ;;
  *) say "usage: tools/fetch_page.sh [tests]"; exit 2 ;;
esac
# The stamp names the packages and this script: a change of either fetches anew.
stamp=$(printf '%s\n' "$packages" | cat - "${BASH_SOURCE[0]}" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$target/.stamp" 2>/dev/null)" = "$stamp" ]; then
  printf '%s\n' "$target"
  exit 0
fi

command -v npm >/dev/null 2>&1 || "$root/tools/setup.sh" npm
mkdir -p "$root/build"
work=$(mktemp -d "$root/build/page.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"

while read -r name version bytes sha; do
  say "downloading $name $version"
  (cd "$work" && npm pack --silent --ignore-scripts "$name@$version" >/dev/null 2>npm.log) || {
    cat "$work/npm.log" >&2
    say "the download of $name failed"
    exit 4
  }
  file="$work/$name-$version.tgz"
  [ -e "$file" ] || { say "the download brought no $name-$version.tgz"; exit 4; }
  found_bytes=$(stat -c %s "$file")
  found_sha=$(sha256sum "$file" | cut -d' ' -f1)
  if [ "$found_bytes" != "$bytes" ] || [ "$found_sha" != "$sha" ]; then
    say "$name-$version.tgz has $found_bytes bytes and SHA-256 $found_sha, expected $bytes and $sha"
    exit 8
  fi
  mkdir "$work/$name"
  tar xzf "$file" -C "$work/$name" --strip-components=1 --no-same-owner
done <<<"$packages"

# A module `src/x.js` of a package becomes `<package>_x.js`; what it imports is renamed with it. Imports end up in
# one form, "./NAME.js", which is what an export into one file rewrites.
flatten() {
  local package=$1 file name
  for file in "$work/$package"/src/*.js; do
    name=$(basename "$file")
    [ "$name" = node.js ] && continue
    sed -E "s#^(import|export)(.* from) '\./([a-z.]+)\.js'#\1\2 \"./${package}_\3.js\"#; s# from 'fzstd'# from \"./fzstd.js\"#" \
      "$file" >"$work/out/${package}_$name"
  done
  cp "$work/$package/LICENSE" "$work/out/LICENSE.$package"
}

if [ "$target" = "$root/build/page" ]; then
  flatten hyparquet
  flatten hyparquet-compressors
  # The two entry files want a WebAssembly snappy; hyparquet has its own, and the page takes modules one by one.
  rm "$work/out/hyparquet-compressors_index.js" "$work/out/hyparquet-compressors_compressors.js"
  cp "$work/uplot/dist/uPlot.esm.js" "$work/out/uplot.js"
  cp "$work/uplot/dist/uPlot.min.css" "$work/out/uplot.css"
  cp "$work/uplot/LICENSE" "$work/out/LICENSE.uplot"
  cp "$work/fzstd/esm/index.mjs" "$work/out/fzstd.js"
  cp "$work/fzstd/LICENSE" "$work/out/LICENSE.fzstd"
else
  mkdir "$work/out/node_modules"
  mv "$work/playwright-core" "$work/out/node_modules/"
fi
printf '%s\n' "$stamp" >"$work/out/.stamp"
rm -rf "$target"
mv "$work/out" "$target"
printf '%s\n' "$target"
