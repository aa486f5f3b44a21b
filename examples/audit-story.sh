# The audit's part of the demo, read in by demo.sh: evaluate, audit, turn the switch, see the offender refused.
# Uses: doorkeeper, here, heading, run, data, start_cluster; $2 is a Python with confluent-kafka.
python=${2:-python3}
out=${DEMO_OUT:-$data/audit}

if ! command -v java >/dev/null; then
  printf '\nThe audit needs Java 17 or later: it runs on Apache Spark. (sudo apt-get install -y default-jdk-headless)\n'
  return 0
fi

heading "Evaluate: the limits are off; real clients do their work, some under names that something generated"
start_cluster story 2 --request-log "$data/requests" --verdict-log "$data/verdicts.log"
"$python" "$here/clients.py" work "$broker" 2>/dev/null

heading "Audit: the request log and the data directory, on Apache Spark"
run audit "$data/requests" "$data/story" --out "$out" --master 'local[2]' --quiet 2>"$data/audit.log" || {
  cat "$data/audit.log" >&2
  exit 1
}

heading "Turn the limits on: the next request of the offender is refused"
run configs --bootstrap-server "$broker" --alter --add-config resource.identifier.limit.enable=true --entity-type brokers --entity-default
"$python" "$here/clients.py" offend "$broker" 2>/dev/null
[ "$out" = "$data/audit" ] || printf '\nThe report for whoever decides: %s/report.html\n' "$out"
