"""Captured files of a host -> environment, kernel identity, preemption model. Pure."""

from orchestrator.facts.environment import Environment as Environment
from orchestrator.facts.environment import differences as differences
from orchestrator.facts.environment import environment as environment
from orchestrator.facts.environment import quiet_notes as quiet_notes
from orchestrator.facts.environment import soft_differences as soft_differences
from orchestrator.facts.identity import kernel_id as kernel_id
from orchestrator.facts.identity import kernel_identity as kernel_identity
from orchestrator.facts.identity import kernel_label as kernel_label
from orchestrator.facts.reading import Facts as Facts
from orchestrator.facts.reading import interpret as interpret
