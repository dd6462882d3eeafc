#!/usr/bin/env bash
# Records the golden of an example track: its prompt text is tokenized by the engine, the first seed_tokens
# ids are the prompt.
#
#   tools/record_golden.sh TRACK_DIR WEIGHTS OUT.golden.json [BIN_DIR]
set -euo pipefail
[ $# -ge 3 ] || { echo "usage: tools/record_golden.sh TRACK_DIR WEIGHTS OUT.golden.json [BIN_DIR]" >&2; exit 2; }
track=$1 weights=$2 out=$3
bin=${4:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/release/bin}

number() { sed -n "s/.*\"$1\"[[:space:]]*:[[:space:]]*\([0-9]*\).*/\1/p" "$track/contract.json" | head -n 1; }
seed_tokens=$(number seed_tokens)
decode_steps=$(number benchmark_decode_steps)
submit_steps=$(number local_submit_benchmark_decode_steps)
steps=$(( (submit_steps > decode_steps ? submit_steps : decode_steps) + 1 ))

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
arguments=()
for prompt in "$track"/prompts/*.txt; do
  name=$(basename "$prompt" .txt)
  "$bin/assay-engine" tokenize -m "$weights" -f "$prompt" --json >"$work/all.json"
  tr -d ' \n' <"$work/all.json" | sed 's/^.*"ids":\[//; s/\].*$//' | tr ',' '\n' >"$work/all"
  count=$(wc -l <"$work/all")
  if [ "$count" -lt "$seed_tokens" ]; then
    echo "record_golden: $prompt has $count tokens, the track needs $seed_tokens" >&2
    exit 1
  fi
  head -n "$seed_tokens" "$work/all" >"$work/$name.ids"
  arguments+=(--prompt-tokens "$work/$name.ids" --case-name "$name")
done
"$bin/record-correctness-golden" --backend live --worker-bin "$bin/assay-engine" --weights "$weights" \
  --contract "$track/contract.json" "${arguments[@]}" --steps "$steps" \
  --benchmark-free-run --benchmark-steps "$decode_steps" --out "$out"
