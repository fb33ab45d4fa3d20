"""Hosts that lie, rave or fall silent: evidence stays small, true to form and in time."""

from __future__ import annotations

import resource
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator.contract import domain, messages
from orchestrator.contract.domain import OperationName, Status
from tests import services
from workers import contact, operations, payload, pool, tasks

KEY = Ed25519PrivateKey.generate()

#: answers the first contact as a host would, so that the lie comes with the call itself
MEET = """\
#!/bin/sh
set -- $SSH_ORIGINAL_COMMAND
if [ "$3" = -s ]; then
    for line in base={base} arch=none checksum=sha256sum shelf=hostrun-{hash}.sh status=done; do
        echo "@@$5 $line"
    done
    echo "@@$5 end"
    exit
fi
echo called >>{log}
say() {{ echo "@@$nonce $1"; }}
nonce=$4
"""


@contextmanager
def host(
    folder: Path, keys: services.Keys, lie: str, base: str = "/base"
) -> Iterator[services.Server]:
    """A host that answers each call with a lie, and notes that it was called."""
    program = folder / "lie"
    text = MEET.format(
        base=base, hash=contact.short_hash(payload.hostrun_script()), log=folder / "calls"
    )
    program.write_text(text + lie)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with services.sshd(folder / "sshd", keys, force=str(program)) as server:
        yield server


def ask(
    server: services.Server,
    keys: services.Keys,
    op: OperationName = OperationName.POLL,
    *,
    deadline_s: float = 20,
    fetch: messages.FetchOrder | None = None,
) -> messages.Evidence:
    """The evidence of one operation, as a worker would send it."""
    operation = messages.Operation(
        id=domain.new_id(),
        op=op,
        site="bench",
        lab="0" * 32,
        host=server.ref(),
        run=domain.new_id(),
        attempt=1,
        fence=1,
        deadline_s=deadline_s,
        sent_at=domain.utc_now(),
        fetch=fetch,
    )
    sent: list[messages.Envelope] = []
    hosts = pool.Pool(keys.folder)
    operator = tasks.Operator(
        identity=tasks.Identity(site="bench", worker="w", site_key=KEY, lab_key=KEY.public_key()),
        station=operations.Station(pool=hosts, cache=keys.folder),
        send=sent.append,
        handled=lambda: None,
    )
    envelope = messages.seal(operation, "lab", KEY)
    operator.handle(envelope.body, envelope.key_id, envelope.signature)
    hosts.close()
    return messages.open_evidence(sent[0], {"bench": KEY.public_key()})


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ("say status=done; say boot='no boot id!'; say end", "cannot carry"),
        ("say status=finished; say end", "'finished' is not one of ours"),
        ("say status=done; say rc=256; say end", "rc is no number"),
        ("say status=done; say fence=many; say end", "fence is no number"),
        ("say status=done; say 'stream=../etc/passwd 1 md5sum 0'; say end", "manifest"),
        ("say status=done", "did not answer to the end"),
        ("echo 'sh: hostrun: not found' >&2; exit 127", "it said 'sh: hostrun: not found'"),
        ("nonce=0000000000000000; say status=done; say end", "did not answer to the end"),
    ],
)
def test_poll_of_a_host_that_lies_is_a_breach_of_protocol(
    tmp_path: Path, keys: services.Keys, lie: str, why: str
) -> None:
    with host(tmp_path, keys, lie) as server:
        evidence = ask(server, keys)
    assert (evidence.status, evidence.commanded) == (Status.PROTO, True)
    assert why in evidence.detail


def test_poll_of_a_host_with_a_long_tongue_is_cut_to_size(
    tmp_path: Path, keys: services.Keys
) -> None:
    lie = 'long=$(head -c 5000 /dev/zero | tr "\\0" x)\n' + (
        "say owner=$long; say detail=$long; say status=died\n"
        "for n in $(seq 40); do say left=$long; done; say end"
    )
    with host(tmp_path, keys, lie) as server:
        evidence = ask(server, keys)
    assert (evidence.status, len(evidence.owner or "")) == (Status.DIED, 200)
    assert [len(line) for line in evidence.left] == [500] * 20


def test_poll_of_a_host_that_never_stops_talking_ends_in_time_and_small(
    tmp_path: Path, keys: services.Keys
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.monotonic()
    with host(tmp_path, keys, "exec cat /dev/zero") as server:
        evidence = ask(server, keys, deadline_s=3)
    assert (evidence.status, evidence.commanded) == (Status.TIMEOUT, True)
    assert time.monotonic() - begun < 15
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_fetch_of_bytes_nobody_asked_for_is_refused(tmp_path: Path, keys: services.Keys) -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    lie = f"say 'chunk other 0 0 sha256sum {empty}'; echo; say status=done; say end"
    order = messages.FetchOrder(chunks=(messages.ChunkOrder(stream="out", offset=0, length=5),))
    with host(tmp_path, keys, lie) as server:
        evidence = ask(server, keys, OperationName.FETCH, fetch=order)
    assert (evidence.status, evidence.chunks) == (Status.PROTO, ())
    assert "'other' nobody asked for" in evidence.detail


@pytest.mark.parametrize("base", ["/a;reboot", "relative", "/a/../b", "$HOME"])
def test_base_that_is_no_plain_path_never_gets_into_a_command(
    tmp_path: Path, keys: services.Keys, base: str
) -> None:
    with host(tmp_path, keys, "say status=done; say end", base=f"'{base}'") as server:
        evidence = ask(server, keys)
    assert evidence.status is Status.PROTO
    assert "no plain path" in evidence.detail
    assert not (tmp_path / "calls").exists()
