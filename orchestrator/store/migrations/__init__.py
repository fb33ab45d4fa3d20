"""Alembic migrations of the store; the revision files are named NNNN_what.py."""
