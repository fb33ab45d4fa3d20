"""Answers of hosts: believed to the letter or not at all."""

from __future__ import annotations

import time

import pytest

from orchestrator.contract import checksum, errors
from orchestrator.contract.domain import Status
from workers import hostcall
from workers.ssh import Output

NONCE = "0123456789abcdef"


def answer(text: bytes, verb: str = "poll", *, over: bool = False) -> hostcall.Answer:
    raw = text.replace(b"@@ ", f"@@{NONCE} ".encode())
    return hostcall.read(Output(raw, b"", over), NONCE, verb)


def chunk(data: bytes, *, algorithm: str = "sha256sum", digest: str | None = None) -> bytes:
    digest = digest or checksum.digest(checksum.Algorithm(algorithm), data)
    return f"@@ chunk out 5 {len(data)} {algorithm} {digest}\n".encode() + data + b"\n"


END = b"@@ status=done\n@@ end\n"


def test_read_values_keep_their_order() -> None:
    found = answer(b"@@ status=done\n@@ left=1 a=b\n@@ left=2 c\n@@ end\n")
    assert found.status is Status.DONE
    assert found.values["left"] == ("1 a=b", "2 c")


@pytest.mark.parametrize(
    "noise",
    [b"Welcome!\n", b"@@fedcba9876543210 status=clean\n", b"\xff\x00\n", b" @@ status=busy\n"],
)
def test_read_noise_is_passed_over(noise: bytes) -> None:
    assert answer(noise + b"@@ status=running\n" + noise + b"@@ end\n" + noise).status == "running"


def test_read_carriage_returns_are_passed_over() -> None:
    assert answer(b"@@ status=done\r\n@@ end\r\n").status is Status.DONE


@pytest.mark.parametrize("algorithm", list(checksum.Algorithm))
def test_read_chunk_takes_its_bytes_as_they_are(algorithm: checksum.Algorithm) -> None:
    data = f"@@{NONCE} end\n".encode() + bytes(range(256))
    [piece] = answer(chunk(data, algorithm=algorithm) + END, "fetch").pieces
    assert (piece.stream, piece.offset, piece.data) == ("out", 5, data)


def test_read_empty_chunk_is_one() -> None:
    [piece] = answer(chunk(b"") + END, "fetch").pieces
    assert piece.data == b""


def test_read_damaged_chunk_is_refused() -> None:
    with pytest.raises(errors.ProtocolError, match="'out' was damaged on its way, from byte 5"):
        answer(chunk(b"data", digest="0" * 64) + END, "fetch")


def test_read_chunk_cut_short_is_refused() -> None:
    with pytest.raises(errors.ProtocolError, match="'out' broke off at byte 7"):
        answer(b"@@ chunk out 5 4 cksum 1\nab", "fetch")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "did not answer to the end"),
        (b"@@ status=done\n", "did not answer to the end"),
        (b"@@ status=done\n@@ en", "is 'en'"),
        (b"@@ end\n", "status '' is not one of ours"),
        (b"@@ status=clean\n@@ end\n", "status 'clean' is not one of ours"),
        (b"@@ nonsense\n@@ end\n", "is 'nonsense'"),
        (b"@@ status=proto\n@@ detail=no space\n@@ end\n", "^no space$"),
    ],
)
def test_read_answer_that_is_none_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(errors.ProtocolError, match=why):
        answer(text)


def test_read_says_what_the_shell_complained_of() -> None:
    with pytest.raises(errors.ProtocolError, match="it said 'sh: not found'"):
        hostcall.read(Output(b"", b"sh: not\x1bfound\n", False), NONCE, "poll")


def test_read_output_over_the_cap_is_refused() -> None:
    with pytest.raises(errors.ProtocolError, match="too long"):
        answer(b"noise\n", over=True)


def test_read_much_noise_takes_time_in_proportion() -> None:
    begun = time.process_time()
    with pytest.raises(errors.ProtocolError):
        answer(b"x\n" * 500_000)
    assert time.process_time() - begun < 5


def test_streams_reads_the_manifest() -> None:
    text = b"@@ status=done\n@@ stream=console 12 md5sum 00ff\n@@ end\n"
    [entry] = answer(text).streams
    assert (entry.name, entry.size, entry.digest) == ("console", 12, "00ff")


@pytest.mark.parametrize(
    "line", [b"../etc 1 md5sum 00", b"a b c", b"a -1 md5sum 00", b"a 1 crc 00", b"a 1 md5sum zz"]
)
def test_streams_malformed_line_is_refused(line: bytes) -> None:
    with pytest.raises(errors.ProtocolError):
        _ = answer(b"@@ status=done\n@@ stream=" + line + b"\n@@ end\n").streams


@pytest.mark.parametrize("text", ["x", "", "-1", "1e3", "99999999999999999"])
def test_number_malformed_is_refused(text: str) -> None:
    found = answer(f"@@ status=done\n@@ fence={text}\n@@ end\n".encode())
    with pytest.raises(errors.ProtocolError, match="fence is no number"):
        found.number("fence")


@pytest.mark.parametrize("base", [None, "", "relative", "/a b", "/a/../b", "/a;b", "/a\n", "/"])
def test_checked_base_unsafe_path_is_refused(base: str | None) -> None:
    with pytest.raises(errors.ProtocolError, match="no plain path"):
        hostcall.checked_base(base)
