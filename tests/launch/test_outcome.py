"""How a run ended, in words."""

from __future__ import annotations

import json
import signal

from neuron_observer.launch.deaths import Death
from neuron_observer.launch.foreground import Exit
from neuron_observer.launch.outcome import Checked, Outcome, course, document, headline, notes
from neuron_observer.model import NODE, Event

BEGAN = 1_788_000_000.0
OUTCOME = Outcome(
    command=("torchrun", "train me.py"),
    began=BEGAN,
    ended=BEGAN + 90,
    seconds=90.0,
    exit=Exit(0),
    checked=None,
    watched_by="run",
    watched=True,
    hooked_ranks=4,
    jobs=(),
    deaths=(),
    kernel=(),
)


def test_the_first_line() -> None:
    """What ended, how and after how long; a long command is cut."""
    assert headline(OUTCOME) == "torchrun 'train me.py': exit code 0 after 1 min 30 s"
    killed = OUTCOME._replace(exit=Exit(137, signal.SIGKILL), command=("x" * 200,))
    assert headline(killed) == f"{'x' * 69}\u2026: signal 9, exit code 137 after 1 min 30 s"


def test_what_is_not_known_is_said() -> None:
    """One reason, the one that comes first."""
    cases = {
        "nothing was watched": OUTCOME._replace(watched=False, hooked_ranks=0),
        "no step hook was heard": OUTCOME._replace(hooked_ranks=0),
        "too shortly to be judged": OUTCOME,
    }
    for words, outcome in cases.items():
        (note,) = notes(outcome)
        assert words in note


def test_the_course_of_it() -> None:
    """Who broke it, and the kernel's lines, with their times."""
    death = Death(BEGAN + 80, 12, 2, 57, 0, None, 9, 3)
    line = Event("oom-kill", NODE, BEGAN + 79, "killed 12", {"ours": 0})
    told = list(course(OUTCOME._replace(deaths=(death,), kernel=(line,))))
    assert told == [
        f"broke           2026-08-29T10:41:20.000Z {death}",
        "kernel log      2026-08-29T10:41:19.000Z oom-kill: killed 12",
    ]


def test_the_document() -> None:
    """It is JSON, and holds what the lines say."""
    death = Death(BEGAN + 80, 12, None, None, None, 1, None, 3)
    told = document(OUTCOME._replace(checked=Checked(1, "DEGRADED"), deaths=(death,)))
    assert json.loads(json.dumps(told)) == told
    assert told["check"] == {"exit_code": 1, "text": "DEGRADED"}
    assert told["first_to_end"][0]["at"] == "2026-08-29T10:41:20.000Z"
    assert told["first_to_end"][0]["rank"] is None
    assert told["seconds"] == 90.0
