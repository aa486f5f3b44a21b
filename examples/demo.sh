#!/usr/bin/env bash
# The demo behind `make demo`: the rulebook, a cluster that judges, quotas that bite (quota-story.sh),
# and an audit (audit-story.sh).
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
    case $argument in *[!A-Za-z0-9._:/=@-]* | '') argument="'$argument'" ;; esac
    line+=" $argument"
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

heading "A cluster: the same verdict at the broker's door and at the controller's"
data=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; wait "${servers[@]}" 2>/dev/null || true; rm -rf "$data"' EXIT
# start_cluster NAME DOORS OPTION...: sets broker and controller, the addresses of its first doors.
start_cluster() {
  local name=$1 doors=$2
  shift 2
  "$doorkeeper" serve --port 0 --data "$data/$name" "$@" >"$data/$name.doors" 2>"$data/$name.log" &
  servers+=($!)
  for _ in $(seq 300); do
    if [ "$(grep -c '^listening' "$data/$name.doors")" = "$doors" ]; then break; fi
    if ! kill -0 "${servers[-1]}" 2>/dev/null; then cat "$data/$name.log" >&2; exit 1; fi
    sleep 0.1
  done
  cat "$data/$name.doors"
  broker=$(awk '$2 == "broker" {print $4; exit}' "$data/$name.doors")
  controller=$(awk '$2 == "controller" {print $4; exit}' "$data/$name.doors")
}
start_cluster cluster 3 --brokers 2 --broker-override 2:num.io.threads=32
run configs --bootstrap-server "$broker" --alter --add-config producer_byte_rate=1024 --entity-type clients --entity-name 'a b/c:d*é"😀'
run configs --bootstrap-server "$broker" --describe --entity-type clients
for door in "--bootstrap-server $broker" "--bootstrap-controller $controller"; do
  # shellcheck disable=SC2086 - an option and its value
  run configs $door --alter --add-config num.io.threads=12 --entity-type brokers --entity-default 2>&1 | grep -vE '^(Caused by|Error while)'
done

# shellcheck source=examples/quota-story.sh
. "$here/quota-story.sh"
# shellcheck source=examples/audit-story.sh
. "$here/audit-story.sh"
