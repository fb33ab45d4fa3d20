"""Numbers that others measured, read into runs. An importer refuses what it cannot believe."""
