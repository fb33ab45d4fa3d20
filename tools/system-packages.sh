#!/bin/sh
# Install what the tests need of a Debian system and is missing. Anybody but root is told instead.
set -eu

# command:package
needed='sshd:openssh-server ssh-keygen:openssh-client dropbear:dropbear-bin busybox:busybox-static
    redis-server:redis-server iperf:iperf iperf3:iperf3 mksh:mksh shellcheck:shellcheck
    objdump:binutils qemu-aarch64-static:qemu-user-static ps:procps ip:iproute2 unshare:util-linux systemd-analyze:systemd'

PATH=$PATH:/usr/sbin:/sbin
missing=
for pair in $needed; do
    command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair#*:}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "benchrack: tests that need one of these are skipped:$missing" >&2
    exit 0
fi

echo "benchrack: installing$missing" >&2
# no service is to be started on the machine of somebody who only wanted to execute tests
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # a list of names
if ! { apt-get -qq update && apt-get -qq install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "benchrack: apt-get could not install these; its whole output is in $log" >&2
    exit 1
fi
rm -f "$log"
