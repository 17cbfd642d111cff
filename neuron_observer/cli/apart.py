"""`daemon` without what its call and its configuration cost.

The command line's library, YAML and msgspec take some megabytes and are needed for a moment. So a
process of its own reads the call, the configuration and the rules, hands over what the daemon goes
by, and ends; and another one at each reload. The daemon imports its own parts meanwhile.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.cli.roots import open_root
from neuron_observer.cli.speech import speak_what_the_terminal_can
from neuron_observer.daemon.signals import hangups
from neuron_observer.errors import ObserverError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.daemon.plan import InForce, Plan

# As `sources.helper` starts its process: nothing is imported from the current directory.
_READ = (
    "import sys; sys.path[:] = filter(None, sys.path);"
    " from neuron_observer.cli.apart import read; read(sys.argv[1:])"
)


class Reading:
    """A process that reads on behalf of this one."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-S", "-c", _READ, *arguments],
            stdin=subprocess.DEVNULL,  # may be what neuron-monitor writes to
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # signals of a terminal are for the daemon
        )

    def found(self) -> Plan | None:
        """What was read, None of a simulation; `ObserverError` of what is wrong.

        SystemExit where the process has said itself what is wrong.
        """
        told, _ = self._process.communicate()
        if not told:
            raise SystemExit(self._process.returncode)
        found: Plan | ObserverError | None = pickle.loads(told)  # noqa: S301 - of our own process
        if isinstance(found, ObserverError):
            raise found
        return found


def read(arguments: Sequence[str]) -> None:
    """The process that reads: hands over on standard output, and ends."""
    try:
        from neuron_observer.cli.group import exit_code  # noqa: PLC0415 - not in the daemon's process

        code = exit_code(["daemon", *arguments], hand_over)
    except Exception:  # noqa: BLE001 - as in `cli.main`
        from neuron_observer.cli.crashes import crashed  # noqa: PLC0415 - rarely needed

        code = crashed()
    sys.exit(code)


def hand_over(found: Plan | ObserverError | None) -> None:
    """Give what was read to the process that asked for it."""
    if isinstance(found, ObserverError):
        error = ObserverError(found.message, remedy=found.remedy)  # others ask for more than words
        error.exit_code = found.exit_code
        found = error
    sys.stdout.buffer.write(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))


def answer(arguments: Sequence[str]) -> int | None:
    """A daemon until it is stopped; its exit code. None: nothing was done, go the whole way."""
    if not {"-h", "--help"}.isdisjoint(arguments):
        return None
    speak_what_the_terminal_can()
    with hangups() as asked:
        try:
            reading = Reading(arguments)
            from neuron_observer.cli.assembly import Ways, serve  # noqa: PLC0415 - meanwhile

            plan = reading.found()
            if plan is None:
                return None
            serve(plan, Ways(open_root, asked, partial(_anew, arguments)))
        except KeyboardInterrupt:
            return 130
        except ObserverError as error:
            if sys.stderr:
                sys.stderr.write(f"neuron-observer: {error}\n")
            return error.exit_code
    return 0


def _anew(arguments: Sequence[str]) -> InForce:
    try:
        found = Reading(arguments).found()
    except SystemExit as ended:
        raise ChildProcessError(f"who reads the configuration ended with {ended.code}") from None
    if found is None:
        raise TypeError("a simulation is no host that was there before")
    return found.in_force
