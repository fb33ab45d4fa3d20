"""The HTTP API: what the command line and scripts speak to. It serves this machine only."""
