"""The command line: a thin client of the API, and what needs no lab or starts one."""
