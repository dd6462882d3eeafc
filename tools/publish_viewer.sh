#!/usr/bin/env bash
# Exports a store as a page without a server, checks it, and brings it where people can open it.
#
#   tools/publish_viewer.sh --store URL [--out DIR] [--title TEXT] [--space OWNER/NAME] [--dry-run]
#
# Without --space the folder (default build/site) is the result: any web server, or a Pages workflow, serves it
# as it is. With --space it goes onto a hub's static space in one commit (HF_TOKEN). --dry-run opens no
# connection for that. Programs come from ASSAY_BIN, default build/release/bin.
# Exit: 2 usage; 3 the export is not what it should be; else what assay-view or assay-publish says.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${ASSAY_BIN:-$root/build/release/bin}

store= out=$root/build/site title= space= dry=
usage() { sed -n '4s/^# *//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case "$1" in
    --store|--out|--title|--space) [ $# -ge 2 ] || usage; printf -v "${1#--}" '%s' "$2"; shift 2 ;;
    --dry-run) dry=--dry-run; shift ;;
    -h|--help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) usage ;;
  esac
done
[ -n "$store" ] || usage
say() { printf 'publish_viewer: %s\n' "$*" >&2; }
for program in assay-view assay-publish; do
  [ -x "$bin/$program" ] || { say "no $bin/$program: build first, or set ASSAY_BIN"; exit 2; }
done

"$bin/assay-view" export --store "$store" -o "$out" ${title:+--title "$title"} >/dev/null

# What a reader would notice only later.
for file in index.html api/index.json; do
  [ -s "$out/$file" ] || { say "the export has no $file"; exit 3; }
done
if grep -q '"problems":\[{' "$out/api/index.json"; then say "some shards cannot be read; the page names them"; fi
if grep -rEl --include='*.html' --include='*.js' --include='*.css' "(src|href|url)[=(][\"']?https?://" "$out" |
   grep -q .; then
  say "the page would load something from elsewhere"; exit 3
fi
say "$(find "$out" -type f | wc -l) files, $(du -sk "$out" | cut -f1) KiB in $out"

if [ -z "$space" ]; then
  # Pages would else leave out what starts with an underscore.
  : >"$out/.nojekyll"
  echo "$out"
  exit 0
fi
# A space says in its README what it is. The upload is a copy: the export itself stays as it was made.
upload=$(mktemp -d)
trap 'rm -rf "$upload"' EXIT
cp -R "$out/." "$upload/"
printf -- '---\ntitle: %s\nsdk: static\napp_file: index.html\n---\n\nThis page shows %s. It is made by assay-view.\n' \
  "$(printf '%s' "${title:-Results}" | tr -cd '[:alnum:] ._-')" "$store" >"$upload/README.md"
"$bin/assay-publish" site "$upload" --space "$space" $dry
