"""Members that are text: kernel log, configuration, our own log, output of the SDK's tools."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from neuron_observer.bundle import rows
from neuron_observer.config import examine
from neuron_observer.config.write import lines, written
from neuron_observer.rules.matcher import Matcher
from neuron_observer.rules.patterns import load
from neuron_observer.sources.child import NOT_EXECUTABLE, NOT_FOUND, Children

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.bundle.contents import Contents
    from neuron_observer.bundle.names import Level
    from neuron_observer.bundle.redaction import Redactor
    from neuron_observer.bundling import Asked
    from neuron_observer.bundling.look import Looked

CONTEXT: Final[dict[Level, int]] = {"none": 5, "ids": 2, "all": 0}  # lines before and after
KERNEL_MOST: Final = 1 << 20  # bytes; the newest count
TAIL_MOST: Final = 1 << 20  # bytes of a log's end
_JOURNAL: Final = (
    *("journalctl", "--unit=neuron-observer", "--lines=1000", "--no-pager", "--quiet"),
    *("--output=short-iso", "--utc"),
)
_JOURNAL_SECONDS: Final = 5.0


def kernel_log(contents: Contents, redactor: Redactor, looked: Looked) -> None:
    """The lines that are about Neuron devices, with some around them; oldest first."""
    if not looked.kernel:
        return
    context = CONTEXT[redactor.level]
    found, cut = bounded(excerpt(looked.kernel, context), KERNEL_MOST)
    if cut:
        contents.leave_out("kernel log", f"{cut} older lines: an excerpt has {KERNEL_MOST} bytes")
    if not any(found):
        contents.leave_out("kernel log", f"none of its {len(looked.kernel)} lines is about Neuron")
        return
    looked.excerpt.extend(line for line in found if not line.startswith("# "))
    told = [line if line.startswith("# ") else rows.line_text(redactor, line) for line in found]
    about = f"{len(looked.excerpt)} of {len(looked.kernel)} lines of the kernel log"
    contents.add("kernel.log", about, _bytes(told))


def excerpt(records: Sequence[str], context: int) -> list[str]:
    """Records that may tell of Neuron devices or their host, with those around them."""
    matcher = _matcher()
    wanted: set[int] = set()
    for number, record in enumerate(records):
        if "neuron" in record or matcher.holds(record.encode("utf-8", "surrogateescape")):
            wanted.update(range(number - context, number + context + 1))
    found: list[str] = []
    before = -1
    for number in sorted(wanted & set(range(len(records)))):
        if number > before + 1:
            found.append(f"# {number - before - 1} lines left out")
        found.append(records[number])
        before = number
    return found


@cache
def _matcher() -> Matcher:
    return Matcher(load())


def bounded(found: Sequence[str], most: int) -> tuple[list[str], int]:
    """The newest lines of so many bytes, and how many there were before them."""
    kept: list[str] = []
    size = 0
    for line in reversed(found):
        size += len(line.encode("utf-8", "surrogateescape")) + 1
        if size > most:
            break
        kept.append(line)
    return kept[::-1], len(found) - len(kept)


def configuration(asked: Asked, contents: Contents, redactor: Redactor) -> None:
    """What is in force and where it comes from; of a broken one what is wrong."""
    if not asked.machine and asked.config_file is None:
        return
    loaded, problems = examine(asked.sources)
    told = [f"wrong: {problem}" for problem in problems]
    if loaded is not None:
        told += [f"remark: {remark}" for remark in loaded.remarks]
        told += [
            f"{one.key.name}: {written(one.key, one.value)}  # {one.origin}"
            for one in lines(loaded, effective=True)
        ]
    text = [redactor.text(line) for line in told]
    contents.add("configuration.txt", "every key, its value, where it comes from", _bytes(text))


def logs(asked: Asked, contents: Contents, redactor: Redactor) -> None:
    """Our own log, and what tools of the Neuron SDK said; none of them is run here."""
    if asked.log is not None:
        _file(asked.log, "observer.log", "the end of our own log", contents, redactor)
    elif asked.machine and not asked.remote:
        _journal(asked, contents, redactor)
    for file, name, tool in (
        (asked.neuron_ls, "neuron-ls.txt", "neuron-ls"),
        (asked.monitor, "neuron-monitor.txt", "neuron-monitor"),
    ):
        if file is not None:
            _file(file, name, f"what {tool} said", contents, redactor)
        else:
            why = f"it attaches to the devices, so it is not run here: --{tool} takes its output"
            contents.leave_out(tool, why)


def _file(name: str, member: str, about: str, contents: Contents, redactor: Redactor) -> None:
    try:
        with Path(name).open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(size - TAIL_MOST, 0))
            data = stream.read(TAIL_MOST)
    except OSError as error:
        contents.leave_out(member, f"{redactor.text(name)}: {error.strerror}")
        return
    if size > TAIL_MOST:
        contents.leave_out(f"the beginning of {member}", f"its last {TAIL_MOST} bytes are here")
        data = data.partition(b"\n")[2]
    _add_log(member, about, data, contents, redactor)


def _journal(asked: Asked, contents: Contents, redactor: Redactor) -> None:
    ended = Children(asked.clock).run(_JOURNAL, seconds=_JOURNAL_SECONDS, max_output=TAIL_MOST)
    if ended.status == 0 and ended.stdout.strip():
        _add_log("observer.log", "the end of our own log", ended.stdout, contents, redactor)
        return
    why = {
        None: "journalctl gave no answer in time",
        0: "the journal has no line of ours",
        NOT_FOUND: "there is no journalctl here",
        NOT_EXECUTABLE: "journalctl cannot be run here",
    }.get(ended.status, f"journalctl ended with {ended.status}")
    contents.leave_out("our own log", f"{why}; --log takes a file")


def _add_log(member: str, about: str, data: bytes, contents: Contents, redactor: Redactor) -> None:
    text = data.decode("utf-8", "replace")
    if member == "neuron-ls.txt":  # a table, or one document on many lines
        contents.add(member, about, _bytes([redactor.text(text.rstrip("\n"))]))
        return
    contents.add(
        member, about, _bytes([rows.line_text(redactor, one) for one in text.splitlines()])
    )


def _bytes(told: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in told).encode("utf-8", "backslashreplace")
