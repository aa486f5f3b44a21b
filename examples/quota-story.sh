# The quotas' part of the demo, read in by demo.sh: two clients under odd names, their metrics, and one being throttled.
# Uses: doorkeeper, here, heading, run, data, start_cluster; $2 is a Python with confluent-kafka.
heading "Client ids are any string (KIP-190): metered under a legal name, and held to a quota"
start_cluster quotas 3 --metrics-port 0
metrics=$(awk '$2 == "metrics" {print $3}' "$data/quotas.doors")
odd=$'a b/c:d*é"\n😀'
run configs --bootstrap-server "$broker" --alter --add-config producer_byte_rate=50000 --entity-type clients --entity-name "$odd"
"${2:-python3}" "$here/throttled.py" "$broker" "$metrics" 2>/dev/null
run top --metrics-port "${metrics##*:}" --once --interval 0.2 --sort throttle --limit 2
