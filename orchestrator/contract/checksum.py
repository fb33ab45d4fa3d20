"""The checksums that a small host can compute: sha256sum, md5sum, or POSIX cksum."""

from __future__ import annotations

import hashlib
from enum import StrEnum


class Algorithm(StrEnum):
    """Named as the command that computes it on the host."""

    SHA256 = "sha256sum"
    MD5 = "md5sum"
    CKSUM = "cksum"


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte << 24
        for _ in range(8):
            crc = (crc << 1) ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1
        table.append(crc & 0xFFFFFFFF)
    return tuple(table)


_TABLE = _crc_table()


def posix_cksum(data: bytes) -> int:
    """The CRC that POSIX cksum prints: the length is part of what is summed."""
    crc = 0
    for byte in data:
        crc = ((crc << 8) & 0xFFFFFFFF) ^ _TABLE[(crc >> 24) ^ byte]
    length = len(data)
    while length:
        crc = ((crc << 8) & 0xFFFFFFFF) ^ _TABLE[(crc >> 24) ^ (length & 0xFF)]
        length >>= 8
    return crc ^ 0xFFFFFFFF


def digest(algorithm: Algorithm, data: bytes) -> str:
    """The checksum as the host prints it: hexadecimal, or a decimal CRC for cksum."""
    match algorithm:
        case Algorithm.SHA256:
            return hashlib.sha256(data).hexdigest()
        case Algorithm.MD5:
            return hashlib.md5(data, usedforsecurity=False).hexdigest()
        case Algorithm.CKSUM:
            return str(posix_cksum(data))
