"""Playbooks: YAML that says what to measure and how, and the shell script that a host executes.

``loader`` reads the file, ``model`` types it, ``check`` holds it against the parsers,
``params`` and ``resolve`` give its parameters values, ``compile`` makes the script. All pure.
"""
