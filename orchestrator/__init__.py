"""benchrack: queue benchmark runs on remote hosts, get the table per host and kernel."""

from __future__ import annotations

__version__ = "0.1.0"
