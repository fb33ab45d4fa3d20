"""Statistics: pure functions from values to summaries. No input, no output, no clock."""
