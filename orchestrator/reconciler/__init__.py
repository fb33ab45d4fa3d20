"""The state machine of a run: which operation is due, and what evidence does. Pure.

Level-triggered: the row says what is due, and it is sent again until evidence comes. Evidence may
come twice, late or never; the table below is total over (state, status), so that nothing that a
host can say leaves a run without a next step.

    queued -lease-> leased -start-> running -poll-> fetching -fetch-> stored -purge-> ended
                      \\____________|_____ killing ___|___ reaping -reap-> ended or queued
"""

from orchestrator.reconciler.clockwork import attend_s as attend_s
from orchestrator.reconciler.clockwork import due as due
from orchestrator.reconciler.clockwork import leased as leased
from orchestrator.reconciler.clockwork import overdue as overdue
from orchestrator.reconciler.clockwork import sent as sent
from orchestrator.reconciler.clockwork import stored as stored
from orchestrator.reconciler.rules import Step as Step
from orchestrator.reconciler.rules import blocked as blocked
from orchestrator.reconciler.table import TABLE as TABLE
from orchestrator.reconciler.table import apply as apply
