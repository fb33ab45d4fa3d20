"""The error tree. A code is part of the interface: it is never renamed.

The docstring of a class is its default message. ``exit_code`` is what the command line ends
with, ``http_status`` what the API answers with.
"""

from __future__ import annotations

from typing import ClassVar


class LabError(Exception):
    """Something in the lab went wrong."""

    code: ClassVar[str] = "lab"
    exit_code: ClassVar[int] = 4
    http_status: ClassVar[int] = 500

    def __init__(self, message: str | None = None, **context: object) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.context = context
        super().__init__(self.message)


class InputError(LabError):
    """What was asked for cannot be done as it was asked."""

    code = "input"
    exit_code = 2
    http_status = 422


class SettingsError(InputError):
    """A setting is wrong."""

    code = "input.settings"


class InventoryError(InputError):
    """A host is described wrongly."""

    code = "input.inventory"


class PlaybookError(InputError):
    """A playbook is wrong. The message begins with file:line:column."""

    code = "input.playbook"


class ImportRefused(InputError):
    """What was to be imported could not be read."""

    code = "input.import"


class UnknownName(InputError):
    """No such name."""

    code = "input.unknown"
    http_status = 404


class WrongState(InputError):
    """This cannot be done in the state that the thing is in."""

    code = "input.state"
    http_status = 409


class Misfit(InputError):
    """A host cannot run this playbook by what is known of it."""

    code = "input.misfit"


class HostRefused(InputError):
    """A host was not taken into the lab."""

    code = "input.host"


class KeyRefused(HostRefused):
    """The host does not let this key in."""

    code = "input.host.key"


class NotAuthorised(LabError):
    """The token is missing or wrong."""

    code = "api.token"
    exit_code = 2
    http_status = 401


class HostError(LabError):
    """An operation on a host did not give what was asked of it."""

    code = "host"


class Unreachable(HostError):
    """The host does not answer."""

    code = "host.unreachable"


class ConnectionLost(HostError):
    """The connection to the host was cut; what became of the command is unknown."""

    code = "host.connection-lost"


class Interrupted(ConnectionLost):
    """The wait for a run was ended so that the run can be stopped."""

    code = "host.interrupted"


class DeadlineExceeded(HostError):
    """The operation did not end within its deadline; what became of the command is unknown."""

    code = "host.timeout"


class AuthRefused(HostError):
    """The host refuses the key."""

    code = "host.auth"


class HostKeyChanged(HostError):
    """The host shows another key than the one it was enrolled with."""

    code = "host.key"


class ProtocolError(HostError):
    """The host's answer does not follow the protocol."""

    code = "host.protocol"


class MessageError(LabError):
    """A message is malformed, unsigned, oversize or of an unknown version."""

    code = "message"


class ParseError(LabError):
    """The output of a tool holds no result that may be believed."""

    code = "parse"


class ForeignHost(LabError):
    """A request was addressed to a name that is not this machine's own."""

    code = "api.host"
    exit_code = 2
    http_status = 421


class Oversize(InputError):
    """A request is too long."""

    code = "input.size"
    http_status = 413


class StoreError(LabError):
    """The store cannot be used."""

    code = "store"
    http_status = 503


class StoreTooNew(StoreError):
    """The state folder was written by a newer benchrack."""

    code = "store.newer"
    exit_code = 2


class StoreReadOnly(StoreError):
    """The state folder cannot be written."""

    code = "store.read-only"
    exit_code = 2


class LabRunning(InputError):
    """Another lab is already running on this state folder."""

    code = "input.running"
    http_status = 409


class BrokerError(LabError):
    """The broker does not answer."""

    code = "broker"
    http_status = 503


class ApiError(LabError):
    """The API does not answer; start one with: benchrack up."""

    code = "api"
    http_status = 503
