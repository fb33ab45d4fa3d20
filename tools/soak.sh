#!/bin/sh
# The tests that kill things, again and again; ends with the first failure.
#   tools/soak.sh [MINUTES]
set -eu
minutes=${1:-10}
end=$(($(date +%s) + minutes * 60))
round=0
while [ "$(date +%s)" -lt "$end" ]; do
    round=$((round + 1))
    "${VENV:-.venv}/bin/pytest" -q -p no:cacheprovider tests/faults tests/integration/test_up.py \
        tests/integration/test_broker.py || exit 1
    echo "soak: round $round passed, $(((end - $(date +%s)) / 60)) min to go"
done
echo "soak: $round rounds in $minutes min, no failure"
