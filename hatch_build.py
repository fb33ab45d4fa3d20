"""Build hook: what a wheel carries beyond the packages.

The probe, compiled for every target, as workers/payload/bin; and the catalogue, as
orchestrator/_playbooks. An editable install reads playbooks/ and compiles the probe on demand.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from workers.payload.rackprobe import build


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the binaries with their manifest, and the playbooks."""

    def dependencies(self) -> list[str]:
        """What pip has to fetch for the build: the compiler, unless the binaries are up to date."""
        stale = any(build.prebuilt(target) is None for target in build.TARGETS.values())
        return [f"ziglang=={build.ZIG_VERSION}"] if stale else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Prepare the additions before the wheel's files are gathered."""
        if version == "editable":
            return
        build_data["force_include"][str(Path(self.root, "playbooks"))] = "orchestrator/_playbooks"
        build_data["artifacts"].append("/workers/payload/bin/*")
        self._compile()

    def _compile(self) -> None:
        build.PREBUILT.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as cache:
            for target in build.TARGETS.values():
                if build.prebuilt(target) is None:
                    path = build.PREBUILT / f"rackprobe-{target.name}"
                    build.compile_to(path, target, cache=Path(cache))
        manifest = {name: build.content_hash(target) for name, target in build.TARGETS.items()}
        text = json.dumps(manifest, indent=1) + "\n"
        (build.PREBUILT / build.MANIFEST).write_text(text, encoding="ascii")
