"""One operation's contact with its host: meets it, keeps its shelf in order, and makes calls."""

from __future__ import annotations

import hashlib
import logging
from typing import Final

from orchestrator.contract import errors, messages
from orchestrator.contract.checksum import digest
from workers import hostcall, payload, pool
from workers.deadline import Deadline

_log = logging.getLogger(__name__)

#: hostrun.sh, executed from where it was written to, puts itself on the shelf like any other file;
#: exec keeps the process number, by which the file is known as its own
_BRING: Final = 'umask 077; f=$0.$$; cat >"$f" && exec /bin/sh "$f" "$@" <"$f"'


class Contact:
    """One operation's contact with the host whose slot it holds."""

    def __init__(
        self, slot: pool.Slot, ref: messages.HostRef, lab: str, *, deadline: Deadline
    ) -> None:
        self._slot = slot
        self._ref = ref
        self._lab = lab
        self._deadline = deadline
        # a connection from an earlier operation may have died without our noticing
        self._proved = False
        #: whether any command was sent to the host
        self.commanded = False

    def meet(self) -> hostcall.Meeting:
        """What the host says of itself, asked for once a connection.

        Raises: HostError.
        """
        link, fresh = self._slot.link(self._ref, deadline=self._deadline)
        self._proved = self._proved or fresh
        if link.meeting is None:
            nonce = hostcall.new_nonce()
            command = f"exec /bin/sh -s -- {nonce} {self._ref.base or ''}".rstrip()
            answer = self._ask(command, nonce, "meet", stdin=payload.meet_script())
            link.meeting = hostcall.Meeting.read(answer)
        return link.meeting

    def call(
        self,
        verb: str,
        *arguments: str,
        stdin: bytes = b"",
        expect: int = 0,
        deadline: Deadline | None = None,
    ) -> hostcall.Answer:
        """The host's answer to a verb. ``expect``: bytes of chunks that may come with it.

        Raises: HostError.
        """
        try:
            return self._call(verb, *arguments, stdin=stdin, expect=expect, deadline=deadline)
        except errors.ConnectionLost as error:
            if self._proved or isinstance(error, errors.Interrupted):
                raise
            _log.info(
                "%s: the idle connection was dead (%s); connecting anew", self._ref.name, error
            )
        return self._call(verb, *arguments, stdin=stdin, expect=expect, deadline=deadline)

    def shelve(self, name: str, data: bytes, *, anew: bool = False) -> None:
        """Put a file on the host's shelf; one of that name is left alone, unless ``anew``.

        Raises: HostError.
        """
        meeting = self.meet()
        if anew or name not in meeting.shelf:
            self.call("shelve", name, *_checksum(meeting, data), stdin=data)
            meeting.shelf.add(name)

    def _call(
        self, verb: str, *arguments: str, stdin: bytes, expect: int, deadline: Deadline | None
    ) -> hostcall.Answer:
        meeting = self.meet()
        hostrun = self._shelve_hostrun(meeting)
        nonce = hostcall.new_nonce()
        words = (f"{meeting.base}/bin/{hostrun}", nonce, meeting.base, self._lab, verb)
        command = " ".join(("exec", "/bin/sh", *words, *arguments))
        return self._ask(
            command, nonce, verb, stdin=stdin, cap=hostcall.ENVELOPE + expect, deadline=deadline
        )

    def _shelve_hostrun(self, meeting: hostcall.Meeting) -> str:
        """The name of hostrun.sh on the host's shelf, where it is put if it is missing."""
        script = payload.hostrun_script()
        name = f"hostrun-{short_hash(script)}.sh"
        if name not in meeting.shelf:
            nonce = hostcall.new_nonce()
            new = f"{meeting.base}/bin/.new.{nonce}"
            words = (nonce, meeting.base, self._lab, "shelve", name, *_checksum(meeting, script))
            command = f"exec /bin/sh -c '{_BRING}' {new} {' '.join(words)}"
            self._ask(command, nonce, "shelve", stdin=script)
            meeting.shelf.add(name)
        return name

    def _ask(
        self,
        command: str,
        nonce: str,
        verb: str,
        *,
        stdin: bytes,
        cap: int = hostcall.ENVELOPE,
        deadline: Deadline | None = None,
    ) -> hostcall.Answer:
        link, _ = self._slot.link(self._ref, deadline=self._deadline)
        session, before = link.session, link.session.commands
        try:
            output = session.execute(command, stdin, deadline=deadline or self._deadline, cap=cap)
            self._proved = True
            return hostcall.read(output, nonce, verb)
        except errors.HostError:
            # whatever went wrong, the next call begins on a new connection
            self._slot.drop()
            raise
        finally:
            self.commanded = self.commanded or session.commands > before


def short_hash(data: bytes) -> str:
    """The part of a sha256 that names a file on a shelf."""
    return hashlib.sha256(data).hexdigest()[:16]


def _checksum(meeting: hostcall.Meeting, data: bytes) -> tuple[str, str]:
    """Algorithm and digest, as words of a call."""
    return meeting.checksum, digest(meeting.checksum, data)
