"""How a kernel was built: its build id and its configuration."""

from __future__ import annotations

import hashlib
import re
import zlib

from orchestrator.facts.sheet import Sheet

_MAX_CONFIG = 4 << 20
_CONFIG = re.compile(r"(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set")
_SELECTED = re.compile(r"CONFIG_(?:PREEMPT\w*|HZ\w*|NO_HZ\w*|HIGH_RES_TIMERS|SMP|M[3-6]86|MELAN)")
_GNU_BUILD_ID = 3


def build_id(hexadecimal: str) -> str | None:
    """The build id among the ELF notes of the kernel."""
    try:
        notes = bytes.fromhex("".join(hexadecimal.split()))
    except ValueError:
        return None
    for order in ("little", "big"):
        if (found := _gnu_note(notes, order == "big")) is not None:
            return found
    return None


def _gnu_note(notes: bytes, big_endian: bool) -> str | None:
    place = 0
    while place + 12 <= len(notes):
        words = [notes[place + at : place + at + 4] for at in (0, 4, 8)]
        name_size, size, kind = (
            int.from_bytes(word, "big" if big_endian else "little") for word in words
        )
        name_at = place + 12
        content_at = name_at + (name_size + 3) // 4 * 4
        if content_at + size > len(notes):
            return None
        if kind == _GNU_BUILD_ID and notes[name_at : name_at + name_size] == b"GNU\0" and size:
            return notes[content_at : content_at + size].hex()
        place = content_at + (size + 3) // 4 * 4
    return None


def config(found: Sheet) -> tuple[str | None, dict[str, str]]:
    """Digest and selected options; from the compressed file where the host could not unpack it."""
    summed = (found.text("config.sum") or "").split()
    digest = f"{summed[0]}:{summed[1]}" if len(summed) > 1 else None
    lines = found.lines("config.options")
    entry = found.entries.get("config.gz")
    if entry and not entry.error and not entry.cut:
        plain = _unpacked(entry.content)
        if plain:
            digest = f"md5sum:{hashlib.md5(plain, usedforsecurity=False).hexdigest()}"
            lines = plain.decode("utf-8", "replace").splitlines()
    options: dict[str, str] = {}
    for line in lines:
        match = _CONFIG.fullmatch(line)
        name = (match[1] or match[3]) if match else ""
        if match and _SELECTED.fullmatch(name):
            options[name] = (match[2] or "n").strip('"')
    return digest, options


def _unpacked(hexadecimal: str) -> bytes:
    try:
        packed = bytes.fromhex("".join(hexadecimal.split()))
        return zlib.decompressobj(wbits=31).decompress(packed, _MAX_CONFIG)
    except (ValueError, zlib.error):
        return b""
