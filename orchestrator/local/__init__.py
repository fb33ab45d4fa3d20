"""A whole lab on one machine: supervisor, embedded broker, demo."""
