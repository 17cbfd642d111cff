"""Rows of captures and recordings: names go, numbers and forms stay."""

from __future__ import annotations

import gzip
import json

import pytest

from neuron_observer.bundle.redaction import Redactor
from neuron_observer.bundle.rows import Rows, lines_of, packed


@pytest.fixture
def redactor() -> Redactor:
    """One that knows a host."""
    one = Redactor("ids")
    one.learn_host("trainer-7")
    return one


@pytest.mark.parametrize(
    "row",
    [
        '0644\tdevices/virtual/neuron_device/neuron0/stats/x/total\t"12\\n"',
        "#at 12.5",
        "#read [0.000123, 0.000009]",
        '#tick [1234.5, 1796032800.1, ["fast"]]',
        '#set [7, [0, 4], "12\\n\\f-44\\n"]',
        '#set [7,[0,4],"12\\n\\f44\\n"]',
        '#error ["sys/x", "0400", "EACCES"]',
        'l\tclass/x\t"../../devices/x"',
        '#host ["proc/uptime", "0444", "12.5 13.5\\n"]',
    ],
)
def test_rows_without_a_name_stay(redactor: Redactor, row: str) -> None:
    """Byte for byte."""
    assert Rows(redactor)(row) == row


def test_names_in_contents(redactor: Redactor) -> None:
    """Also right behind an escape, where JSON's own text has no word's end."""
    told = Rows(redactor)('0444\tx/y\t"a\\ntrainer-7\\tb"')
    assert told == '0444\tx/y\t"a\\nhost-1\\tb"'
    kernel = Rows(redactor)('#kernel [1.5, "6,1,2,-;hi\\ntrainer-7 10.1.2.3"]')
    assert json.loads(kernel.partition(" ")[2]) == [1.5, "6,1,2,-;hi\nhost-1 198.18.0.1"]


def test_reports_inside_rows(redactor: Redactor) -> None:
    """A report of neuron-monitor is a document in a text: its fields are for names."""
    report = json.dumps({"instance_info": {"instance_name": "short", "instance_id": "i-01234567"}})
    told = Rows(redactor)(f"#monitor {json.dumps([1.0, report])}")
    inner = json.loads(json.loads(told.partition(" ")[2])[1])
    assert inner["instance_info"]["instance_name"] == "host-1"
    assert inner["instance_info"]["instance_id"] == f"i-{1:017x}"


@pytest.mark.parametrize("form", ["host", "set"])
def test_files_of_processes(redactor: Redactor, form: str) -> None:
    """In a capture and in a recording: by what each file is."""
    files = {
        "cmdline": ("python\0acme.py\0--token\0hunter2\0", "python\0program-1.py\0--token\0***\0"),
        "environ": ("RANK=0\0MY_KEY=hunter2\0", "_=\0RANK=0\0"),
        "stat": ("7 (acme (x)) S 1 7 7 0", "7 (program-2) S 1 7 7 0"),
        "comm": ("acme (x)\n", "program-2\n"),
        "cgroup": ("0::/acme.service\n", "0::/unit-1.service\n"),
    }
    rows = Rows(redactor)
    if form == "host":
        for leaf, (raw, told) in files.items():
            row = rows(f"#host {json.dumps([f'proc/7/{leaf}', '0444', raw])}")
            assert json.loads(row[6:]) == [f"proc/7/{leaf}", "0444", told]
        return
    names = json.dumps([1, "proc/7", list(files)])
    assert json.loads(rows(f"#files {names}")[7:]) == json.loads(names)
    contents = "\f".join(raw for raw, _ in files.values())
    row = rows(f"#set {json.dumps([1, [0, 1, 2, 3, 4], contents])}")
    number, positions, text = json.loads(row[5:])
    assert (number, positions) == (1, [0, 1, 2, 3, 4])
    assert text.split("\f") == [told for _, told in files.values()]


@pytest.mark.parametrize(
    "row",
    ['#new {"why": "trainer-7"}', "#kernel nonsense trainer-7", "trainer-7",
     '#set [9, [0], "trainer-7"]',
     "0444\tx\tnot json trainer-7", '#host ["trainer-7"]'],
)  # fmt: skip
def test_rows_that_nobody_knows_are_text(redactor: Redactor, row: str) -> None:
    """Of a later version, or damaged: nothing slips through."""
    told = Rows(redactor)(row)
    assert "trainer-7" not in told
    assert "host-1" in told


def test_packed_and_read_again(redactor: Redactor) -> None:
    """The same bytes each time; what is damaged or unpacks to too much is said."""
    data = packed(redactor, ["#at 1", "#x trainer-7"])
    assert data == packed(redactor, ["#at 1", "#x trainer-7"])
    assert list(lines_of(data, 1000)) == ["#at 1", "#x host-1"]
    assert list(lines_of(b"a\nb", 1000)) == ["a", "b"]
    with pytest.raises(ValueError, match="is damaged"):
        list(lines_of(data[:-9], 1000))
    with pytest.raises(ValueError, match="more than 1000000 bytes"):
        list(lines_of(gzip.compress(bytes(3_000_000)), 1_000_000))
