#!/usr/bin/env bash
# The demo behind `make demo`: what the rulebook says about sample names and config changes.
set -euo pipefail
export LC_ALL=C.UTF-8
doorkeeper=${1:-doorkeeper}
here=$(cd "$(dirname "$0")" && pwd)

heading() { printf '\n== %s\n' "$1"; }
# A refusal (exit 1) is what the demo wants to show; anything else but 0 is a failure.
run() { show "$@"; "$doorkeeper" "$@" || [ $? -eq 1 ]; }
show() {
  local argument line='$ doorkeeper'
  for argument in "$@"; do
    argument=${argument//"$here"/examples}
    [ "${#argument}" -gt 60 ] && argument="${argument:0:6}… (${#argument} characters)"
    line+=" '$argument'"
  done
  printf '%s\n' "$line"
}
repeat() { printf "%0.s$1" $(seq "$2"); }

heading "Names: KIP-1233 gives every identifier a length, counted as Kafka counts it"
run check group billing "$(repeat g 249)" "$(repeat g 250)"
run check client-id 'a b/c:d*é"😀' "$(repeat 😀 125)"
run check member-id 8D8AC610-566D-4EF0-9C22-186B2A5ED792 "consumer-1-8D8AC610-566D-4EF0-9C22-186B2A5ED792"
run check topic orders 'orders/eu' ..
heading "The same breach in Kafka 4.x, where the switch is off: told, not refused"
run check group --release 4.x "$(repeat g 250)"
heading "Config changes: one judgement, with each broker's static configs (KAFKA-19931)"
run check changes "$here/config-changes/changes.yaml" \
  --broker "1=$here/config-changes/server-1.properties" --broker "2=$here/config-changes/server-2.properties"
heading "A server.properties alone"
run check properties "$here/config-changes/server-1.properties"
