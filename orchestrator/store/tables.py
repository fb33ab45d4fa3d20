"""The tables. Times are seconds since the epoch, UTC; JSON columns hold plain values."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

_ID = String(32)

lab = Table(
    "lab",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("created_at", Float, nullable=False),
)

site = Table(
    "site",
    metadata,
    Column("name", String(63), primary_key=True),
    Column("public_key", Text, nullable=False),
    Column("echo_at", Float),
)

#: what a lease is of; hosts that are one machine share a row
machine = Table(
    "machine",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("fence", Integer, nullable=False, default=0),
    Column("lease_run", _ID),
    Column("leased_at", Float),
)

host = Table(
    "host",
    metadata,
    Column("name", String(63), primary_key=True),
    Column("machine", _ID, ForeignKey("machine.id"), nullable=False),
    Column("spec", JSON, nullable=False),
    Column("host_keys", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("unreachable", Boolean, nullable=False, default=False),
    Column("sentence", Text, nullable=False, default=""),
    Column("machine_id", String(64)),
    Column("instance", _ID, nullable=False),
    Column("boot", String(64), nullable=False),
    Column("uid", Integer, nullable=False),
    Column("base", Text, nullable=False),
    Column("volatile", Boolean, nullable=False),
    Column("facts", LargeBinary, nullable=False),
    Column("kernel", String(64), nullable=False),
    Column("probed_at", Float, nullable=False),
)

kernel = Table(
    "kernel",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("label", Text, nullable=False),
    #: group of the source, imported kernels only
    Column("grouped", Text, nullable=False, default=""),
    Column("identity", JSON, nullable=False),
)

job = Table(
    "job",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("created_at", Float, nullable=False),
    Column("user", Text, nullable=False),
    Column("playbook", String(63), nullable=False),
    Column("source", Text, nullable=False),
    Column("given", JSON, nullable=False),
    Column("hosts", JSON, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("warmups", Integer, nullable=False),
    Column("pause_s", Float, nullable=False),
    Column("noise", String(8), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("cancelled", Boolean, nullable=False, default=False),
    Column("imported_from", Text),
)

run = Table(
    "run",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("job", _ID, ForeignKey("job.id"), nullable=False),
    Column("host", String(63), nullable=False),
    Column("position", Integer, nullable=False),
    Column("block", Integer, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("warmup", Boolean, nullable=False),
    Column("params", JSON, nullable=False),
    Column("expected_s", Float, nullable=False),
    Column("max_runtime_s", Float, nullable=False),
    Column("state", String(16), nullable=False),
    Column("rev", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("cancel", Boolean, nullable=False),
    Column("next_at", Float, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("sends", Integer, nullable=False),
    Column("leased_at", Float),
    Column("started_at", Float),
    Column("deadline_at", Float),
    Column("ended_at", Float),
    Column("boot", String(64)),
    Column("blocker", Text),
    Column("outcome", String(16)),
    Column("reason", Text),
    Column("manifest", JSON, nullable=False),
    Column("rc", Integer),
    Column("sentence", Text, nullable=False),
    UniqueConstraint("job", "position"),
    Index("run_due", "state", "next_at"),
    Index("run_by_host", "host", "state"),
)

#: every attempt, with the script it was given; superseded ones stay
attempt = Table(
    "attempt",
    metadata,
    Column("run", _ID, ForeignKey("run.id"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("fence", Integer, nullable=False),
    Column("script", LargeBinary, nullable=False),
    Column("leased_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("outcome", String(16)),
    Column("reason", Text),
)

#: streams as fetched, byte for byte
chunk = Table(
    "chunk",
    metadata,
    Column("run", _ID, ForeignKey("run.id"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("stream", String(100), primary_key=True),
    Column("offset", Integer, primary_key=True),
    Column("length", Integer, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("data", LargeBinary, nullable=False),
)

#: one row a run: what is counted once
result = Table(
    "result",
    metadata,
    Column("run", _ID, ForeignKey("run.id"), primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("host", String(63), nullable=False),
    Column("kernel", String(64), ForeignKey("kernel.id")),
    Column("boot", String(64)),
    Column("series", String(64)),
    #: the parameters by which the series is known
    Column("params", JSON, nullable=False),
    Column("environment", JSON, nullable=False),
    Column("notes", JSON, nullable=False),
    Column("received_at", Float, nullable=False),
    Index("result_by_series", "series", "kernel"),
)

measurement = Table(
    "measurement",
    metadata,
    Column("run", _ID, ForeignKey("run.id"), primary_key=True),
    Column("metric", String(100), primary_key=True),
    Column("value", Float, nullable=False),
    #: the metric's unit for people; the value itself is in the base unit
    Column("unit", String(16), nullable=False),
    Column("better", String(8), nullable=False),
    Column("parser", String(64), nullable=False),
    Column("is_primary", Boolean, nullable=False),
    Column("samples", Integer),
)

#: raw samples of one metric of one run, ns, packed
sample_set = Table(
    "sample_set",
    metadata,
    Column("run", _ID, ForeignKey("run.id"), primary_key=True),
    Column("metric", String(100), primary_key=True),
    Column("n", Integer, nullable=False),
    Column("packed", LargeBinary, nullable=False),
)

#: what a series and metric is made of under one kernel, kept at ingest
aggregate = Table(
    "aggregate",
    metadata,
    Column("series", String(64), primary_key=True),
    Column("kernel", String(64), ForeignKey("kernel.id"), primary_key=True),
    Column("metric", String(100), primary_key=True),
    Column("host", String(63), nullable=False),
    Column("playbook", String(63), nullable=False),
    Column("params", JSON, nullable=False),
    Column("n", Integer, nullable=False),
    Column("mean", Float, nullable=False),
    Column("m2", Float, nullable=False),
    Column("minimum", Float, nullable=False),
    Column("maximum", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Index("aggregate_by_playbook", "playbook", "host"),
)

#: operations on hosts beside any run (scan, probe), with the evidence that came
errand = Table(
    "errand",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("op", String(8), nullable=False),
    Column("site", String(63), nullable=False),
    Column("host_ref", JSON, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("give_up_at", Float, nullable=False),
    Column("next_at", Float, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("evidence", Text),
    Index("errand_due", "next_at"),
)

#: what happened, for people and audit
event = Table(
    "event",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("host", String(63)),
    Column("job", _ID),
    Column("run", _ID),
    Column("detail", Text, nullable=False),
    Index("event_by_run", "run"),
)

#: messages that were refused, with the reason
dead_letter = Table(
    "dead_letter",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("body", Text, nullable=False),
)
