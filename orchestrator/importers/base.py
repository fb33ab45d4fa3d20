"""What every importer gives: runs with their numbers, and nothing that the source does not say."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.contract.domain import KernelIdentity, Measurement, Note, PreemptModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """One run of a source. Its host is the caller's to say; its boot is unknown.

    ``kernel`` and ``group`` together are the identity of the kernel: a source may use one label
    for two kernels.
    """

    playbook: str
    #: sorted by name, every value as text
    params: tuple[tuple[str, str], ...]
    kernel: str
    group: str
    #: place in the source, counted from 1 over everything imported with it
    order: int
    measurements: tuple[Measurement, ...]
    preempt: PreemptModel = PreemptModel.UNKNOWN
    notes: tuple[Note, ...] = ()
    #: line of the source that the numbers stand in, counted from 1
    line: int

    @property
    def identity(self) -> KernelIdentity:
        """The kernel, as far as the source tells."""
        return KernelIdentity(
            release=self.kernel,
            version="",
            build_id=None,
            config_hash=None,
            preempt=self.preempt,
            imported=(self.kernel, self.group),
        )
