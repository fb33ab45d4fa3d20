"""The store: the only memory of a lab. SQLAlchemy Core; SQLite in WAL mode."""
