"""Which kernel it is: the identity that results are aggregated by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from orchestrator.contract import errors
from orchestrator.contract.domain import KernelId, KernelIdentity
from orchestrator.facts.reading import Facts


def kernel_identity(facts: Facts) -> KernelIdentity:
    """The identity of the kernel that facts were read under.

    Raises: ParseError if they do not name its release: results of it would go to a wrong kernel.
    """
    if not facts.release:
        raise errors.ParseError("the facts do not name the kernel's release")
    return KernelIdentity(
        release=facts.release,
        version=facts.version or "",
        build_id=facts.build_id,
        config_hash=facts.config_hash,
        preempt=facts.preemption.model,
        options=facts.options,
    )


def kernel_id(identity: KernelIdentity) -> KernelId:
    """32 hexadecimal digits, equal for equal identities, for ever."""
    text = json.dumps(asdict(identity), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return KernelId(hashlib.sha256(text.encode()).hexdigest()[:32])


def kernel_label(identity: KernelIdentity) -> str:
    """What people see: release and preemption model, or the label of the source."""
    if identity.imported:
        return identity.imported[0]
    return f"{identity.release} {identity.preempt}"
