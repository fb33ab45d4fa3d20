"""Parsers of tool output: one file per tool, pure and versioned."""
