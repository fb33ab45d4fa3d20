"""rackprobe: the probe that needs nothing on the host. C sources, and how they are built."""
