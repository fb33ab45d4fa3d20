"""The API over HTTP, as a process of its own, on a real store."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from orchestrator import __version__
from orchestrator.api import serve
from orchestrator.contract.domain import Outcome, utc_now
from orchestrator.settings import Settings
from orchestrator.store import hosts, runs, session
from tests import services
from tests.integration import apis
from tests.integration.apis import Api

MAILS = Path(__file__).parent.parent / "data" / "mails"
MAIL = (MAILS / "iperf-2007.flat.txt").read_bytes()
ORDER = {"playbook": "sched-latency-idle", "hosts": ["elan1"], "repeats": 2}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An API that the tests only ask."""
    with apis.serving(tmp_path_factory.mktemp("shared") / "state") as running:
        yield running


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    """An API with a store of its own."""
    with apis.serving(tmp_path / "state") as running:
        yield running


def test_good_request_is_answered(shared: Api) -> None:
    assert shared.ask("GET", "version").json() == {"version": __version__}
    assert shared.ask("GET", "hosts").json() == []


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic {}", "Bearer {}x", "{}"])
def test_wrong_token_is_refused(shared: Api, given: str) -> None:
    headers = {"Authorization": given.format(shared.token)}
    status, code, _ = shared.error("GET", "status", headers=headers)
    assert (status, code) == (401, "api.token")


def test_every_route_asks_for_the_token(shared: Api) -> None:
    paths = shared.ask("GET", "openapi.json").json()["paths"]
    routes = [(method, path) for path, methods in paths.items() for method in methods]
    assert len(routes) >= 20
    for method, path in routes:
        response = httpx.request(method, shared.url + path, trust_env=False)
        assert response.status_code == 401, (method, path)


@pytest.mark.parametrize(
    "name", ["rebound.example", "192.0.2.1", "localhost.example", "127.0.0.1.example", "", "[::2]"]
)
def test_foreign_host_header_is_refused(shared: Api, name: str) -> None:
    status, code, _ = shared.error("GET", "status", headers={"Host": name})
    assert (status, code) == (421, "api.host")


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "127.1.2.3", "[::1]:9"]
)
def test_own_host_header_is_taken(shared: Api, name: str) -> None:
    assert shared.ask("GET", "status", headers={"Host": name}).status_code == 200


def test_declared_size_over_the_limit_is_refused(shared: Api) -> None:
    status, code, _ = shared.error("POST", "imports/mail", content=b"x" * (8 * 2**20 + 1))
    assert (status, code) == (413, "input.size")


def test_undeclared_size_over_the_limit_is_refused(shared: Api) -> None:
    chunks = iter([b"x" * 2**20] * 9)
    status, code, _ = shared.error("POST", "imports/mail", content=chunks)
    assert (status, code) == (413, "input.size")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "nothing", None, 404, "/api/v1/nothing"),
        ("DELETE", "hosts", None, 405, "DELETE /api/v1/hosts"),
        ("GET", "hosts/nobody", None, 404, "unknown host 'nobody'"),
        ("POST", "hosts/nobody/check", None, 404, "unknown host 'nobody'"),
        ("GET", "jobs/ab", None, 404, "unknown job 'ab'"),
        ("GET", "runs/ab", None, 404, "unknown run 'ab'"),
        ("GET", "playbooks/sched-latency-idel", None, 404, "'sched-latency-idle'"),
        ("GET", "jobs?limit=many", None, 422, "limit"),
        ("GET", "results?hots=h", None, 422, "hots"),
        ("GET", "export?format=xml", None, 422, "format"),
        ("GET", "results?playbook=nothing", None, 404, "unknown playbook"),
        ("POST", "scan", {"address": "x", "port": "many"}, 422, "port"),
        ("POST", "scan", {"address": "127.0.0.1", "site": "attic"}, 404, "unknown site"),
        ("POST", "scan", {"address": "-oProxyCommand=x"}, 422, "address"),
        ("POST", "hosts", {"name": "h"}, 422, "address"),
        ("POST", "jobs", {"playbook": "p", "hosts": ["h"], "repeat": 1}, 422, "repeat"),
        ("POST", "jobs", {"playbook": "p", "hosts": ["h"], "repeats": 0}, 422, "repeats"),
        ("POST", "jobs", {"playbook": "sched-latency-idel", "hosts": ["h"]}, 404, "did you mean"),
        ("POST", "jobs", {"playbook": "sched-latency-idle"}, 422, "--host"),
        ("POST", "jobs", {"hosts": ["h"]}, 422, "playbook"),
    ],
)
def test_bad_request_is_refused_in_one_sentence(
    shared: Api, method: str, path: str, body: object, status: int, said: str
) -> None:
    given, code, message = shared.error(method, path, json=body)
    assert given == status
    assert code.startswith("input")
    assert said in message
    assert "\n" not in message


def test_body_that_is_no_json_is_refused(shared: Api) -> None:
    headers = {"Content-Type": "application/json"}
    status, code, _ = shared.error("POST", "jobs", content=b"{", headers=headers)
    assert (status, code) == (422, "input")


def test_job_with_a_broken_playbook_names_its_line(shared: Api) -> None:
    order = {"source": "playbook: 1\nname: [", "source_name": "mine.yaml", "hosts": ["elan1"]}
    status, code, message = shared.error("POST", "jobs", json=order)
    assert (status, code) == (422, "input.playbook")
    assert message.startswith("mine.yaml:2:")


def test_refused_job_queues_nothing(api: Api) -> None:
    api.add_host("elan1")
    api.error("POST", "jobs", json={**ORDER, "params": {"samples": "7"}})
    api.error("POST", "jobs", json={**ORDER, "hosts": ["elan1", "elan2"]})
    assert api.ask("GET", "jobs").json() == []


def test_job_is_queued_shown_and_cancelled(api: Api) -> None:
    api.add_host("elan1")
    queued = api.ask("POST", "jobs", json=ORDER)
    assert queued.status_code == 201
    ident = queued.json()["id"]
    assert api.ask("GET", f"jobs/{ident[:6]}").json() == queued.json()
    assert len(api.ask("GET", f"jobs/{ident}/runs").json()) == queued.json()["total"] == 3
    assert api.ask("GET", "status").json()["queued"] == 3
    assert api.ask("POST", f"jobs/{ident}/cancel").json()["state"] == "cancelling"


def test_job_belongs_to_the_user_of_the_token_whatever_it_says(api: Api) -> None:
    api.add_host("elan1")
    ident = api.ask("POST", "jobs", json={**ORDER, "user": "mallory"}).json()["id"]
    with closing(session.Store(api.settings.database_url)) as store, store.reading() as db:
        assert runs.find_job(db, ident)[0].user not in ("", "mallory")


def test_run_that_has_not_started_has_no_script_nor_streams(api: Api) -> None:
    api.add_host("elan1")
    ident = api.ask("POST", "jobs", json=ORDER).json()["id"]
    run = api.ask("GET", f"jobs/{ident}/runs").json()[0]["id"]
    assert api.ask("GET", f"runs/{run}").json()["state"] == "queued"
    assert api.ask("GET", f"runs/{run}/streams").json() == []
    assert api.error("GET", f"runs/{run}/script")[:2] == (409, "input.state")
    assert api.error("GET", f"runs/{run}/raw?stream=result")[0] == 404


def test_imported_mail_is_in_results_and_exports_once(api: Api) -> None:
    options = {"params": {"name": "mail.txt"}, "headers": {"Content-Type": "text/plain"}}
    jobs = api.ask("POST", "imports/mail", content=MAIL, **options).json()
    assert [job["hosts"] for job in jobs] == [["imported"]]
    assert api.error("POST", "imports/mail", content=MAIL, **options)[:2] == (409, "input.state")
    tables = api.ask("GET", "results?host=imported").json()
    assert {table["playbook"] for table in tables} == {jobs[0]["playbook"]}
    assert api.ask("GET", "export?format=csv").text.count("\n") > jobs[0]["total"]


def test_results_as_text_may_leave_out_secondary_metrics(api: Api) -> None:
    options = {"params": {"name": "mail.txt"}, "headers": {"Content-Type": "text/plain"}}
    api.ask("POST", "imports/mail", content=MAIL, **options)
    every = api.ask("GET", "results?format=plain").text
    primary = api.ask("GET", "results?format=plain&primary=true").text
    assert "throughput" in primary
    assert 0 < len(primary) < len(every)


def test_documents_are_never_shown_by_a_browser(shared: Api) -> None:
    headers = shared.ask("GET", "playbooks/health-check/source").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-disposition"] == "attachment"


def test_playbook_source_is_the_exact_file(shared: Api) -> None:
    shown = shared.ask("GET", "playbooks/health-check").json()
    source = shared.ask("GET", "playbooks/health-check/source").content
    assert source == Path(shown["source_path"]).read_bytes()


def test_end_comes_at_once_while_somebody_waits_for_a_host(api: Api) -> None:
    with closing(session.Store(api.settings.database_url)) as store, store.writing() as db:
        hosts.record_site(db, "main", "no worker has this key")
        hosts.record_echo(db, "main", utc_now())
    waiting = threading.Thread(target=_scan_in_vain, args=(api,))
    waiting.start()
    services.wait_for(lambda: _errands(api) == 1, "the scan waits for a worker")
    begun = time.monotonic()
    api.process.terminate()
    assert api.process.wait(20) == 0
    assert time.monotonic() - begun < 10
    assert not api.settings.api_file.exists()
    waiting.join()


def _scan_in_vain(api: Api) -> None:
    try:
        api.ask("POST", "scan", json={"address": "127.0.0.1"})
    except httpx.HTTPError:
        return


def _errands(api: Api) -> int:
    with closing(session.Store(api.settings.database_url)) as store, store.reading() as db:
        return int(db.exec_driver_sql("SELECT count(*) FROM errand").scalar_one())


@pytest.mark.parametrize(
    ("environ", "code", "said"),
    [
        ({"BENCHRACK_API_HOST": "0.0.0.0"}, 2, "not a loopback address"),
        ({"BENCHRACK_API_HOST": "192.0.2.1"}, 2, "not a loopback address"),
        ({"BENCHRACK_API_PORT": "99999"}, 2, "BENCHRACK_API_PORT"),
    ],
)
def test_address_that_others_could_reach_is_refused(
    tmp_path: Path, environ: dict[str, str], code: int, said: str
) -> None:
    done = subprocess.run(
        (sys.executable, "-m", "orchestrator.api"),
        env={"BENCHRACK_STATE": str(tmp_path), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_taken_port_is_said_in_one_sentence(shared: Api) -> None:
    port = shared.url.rpartition(":")[2]
    process = apis.start(shared.settings, BENCHRACK_API_PORT=port)
    assert process.wait(30) == 4
    assert "cannot listen" in (shared.settings.logs / "api.log").read_text()
    assert shared.settings.api_file.exists()


def test_missing_token_is_said_in_one_sentence(tmp_path: Path) -> None:
    process = apis.start(Settings.read({}, state=tmp_path))
    assert process.wait(30) == 2
    assert "token cannot be read" in (tmp_path / "logs" / "api.log").read_text()


def test_announced_address_is_left_alone_once_it_is_of_another_api(tmp_path: Path) -> None:
    settings = Settings.read({}, state=tmp_path)
    with serve.announced(settings, "http://127.0.0.1:1"):
        said = json.loads(settings.api_file.read_text())
        settings.api_file.write_text("another")
    assert said == {"url": "http://127.0.0.1:1", "pid": os.getpid()}
    assert settings.api_file.read_text() == "another"


def test_url_of_an_ipv6_socket_is_one() -> None:
    with socket.socket(socket.AF_INET6) as listening:
        listening.bind(("::1", 0))
        assert serve.url_of(listening).startswith("http://[::1]:")


def test_runs_that_left_nothing_are_left_out_with_their_reason(api: Api) -> None:
    api.add_host("elan1")
    ident = api.ask("POST", "jobs", json=ORDER).json()["id"]
    api.end_runs(ident, Outcome.INFRA_FAILED, "no contact")
    (table,) = api.ask("GET", "results?primary=true").json()
    assert table["metric"] == ""
    assert [(one["reason"], one["runs"]) for one in table["excluded"]] == [("no contact", 2)]
    assert dict(table["params"])["samples"] == "10000"
    assert "2 runs infra-failed: no contact" in api.ask("GET", "results?format=plain").text
    assert "2,infra-failed: no contact" in api.ask("GET", "export?format=csv-summary").text
    assert "known are" not in api.error("GET", "results?metric=latency")[2]


def test_playbook_of_a_file_is_known_once_it_was_queued(api: Api) -> None:
    api.add_host("elan1")
    source = api.ask("GET", "playbooks/sched-latency-idle/source").text
    source = source.replace("name: sched-latency-idle", "name: mine")
    assert api.error("GET", "results?playbook=mine")[0] == 404
    api.ask("POST", "jobs", json={"source": source, "hosts": ["elan1"]})
    assert api.ask("GET", "results?playbook=mine").json() == []


def test_failed_health_check_is_a_list_and_no_table(api: Api) -> None:
    api.add_host("elan1")
    order = {"playbook": "health-check", "hosts": ["elan1"]}
    ident = api.ask("POST", "jobs", json=order).json()["id"]
    api.end_runs(ident, Outcome.FAILED, "load1 = 3 is outside 0..1")
    (check,) = api.ask("GET", "checks").json()
    assert (check["host"], check["outcome"], check["lines"]) == ("elan1", "failed", [])
    text = api.ask("GET", "results?format=plain&primary=true").text
    assert text.startswith("health-check: host elan1: failed")
    assert "load1 = 3 is outside 0..1" in text
    assert text.count("health-check") == 1


def test_runs_that_wait_for_the_same_are_one_line_of_the_status(api: Api) -> None:
    api.add_host("elan1")
    api.ask("POST", "jobs", json=ORDER)
    waiting = api.ask("GET", "status").json()["waiting"]
    assert [(one["host"], one["runs"], one["why"]) for one in waiting] == [("elan1", 3, "its turn")]


@pytest.mark.parametrize("mail", ["iperf-2007", "latency-2004"])
def test_mail_is_not_imported_again_in_another_form(api: Api, mail: str) -> None:
    headers = {"Content-Type": "text/plain"}
    for form, status in (("flat", 201), ("wrapped", 409)):
        content = (MAILS / f"{mail}.{form}.txt").read_bytes()
        answer = api.ask(
            "POST", "imports/mail", content=content, headers=headers, params={"name": form}
        )
        assert answer.status_code == status
    assert "from flat already; nothing was imported" in answer.json()["error"]["message"]
    other = {"name": "wrapped", "host": "elsewhere"}
    answer = api.ask("POST", "imports/mail", content=content, headers=headers, params=other)
    assert answer.status_code == 201


def test_imported_numbers_are_not_of_the_machine_behind_their_host(api: Api) -> None:
    api.add_host("elan1")
    options = {"params": {"name": "m", "host": "elan1"}, "headers": {"Content-Type": "text/plain"}}
    api.ask("POST", "imports/mail", content=MAIL, **options)
    notes = [note for table in api.ask("GET", "results").json() for note in table["notes"]]
    assert "machine" not in {note["code"] for note in notes}
