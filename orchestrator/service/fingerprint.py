"""Fingerprints of SSH keys, as OpenSSH prints them."""

from __future__ import annotations

import base64
import hashlib


def fingerprint(line: str) -> str:
    """``SHA256:...`` of a key in the form ``ssh-ed25519 AAAA...``."""
    blob = base64.b64decode(line.split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
