"""What controller and workers agree on; the only part of the orchestrator that workers import."""
