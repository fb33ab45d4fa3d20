"""What the worker puts on a host: the host's side of the protocol, and the probe."""
