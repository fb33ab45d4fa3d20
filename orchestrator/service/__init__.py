"""Use cases: what the API calls. Each takes a Context and answers with a report view."""

from orchestrator.service.context import Context, open_context

__all__ = ["Context", "open_context"]
