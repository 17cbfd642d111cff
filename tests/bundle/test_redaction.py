"""Names out of text and documents: the same everywhere, and nothing of ours mangled."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.bundle.redaction import Redactor

VERSION = "2.30.2.0"


@pytest.fixture
def redactor() -> Redactor:
    """One that knows a host, a user, a job and a chip."""
    one = Redactor("ids", [VERSION])
    one.learn_host("trainer-7.cluster.acme.com")
    one.learn("user", "alice")
    one.learn("job", "llama-secret", "train")
    one.learn("serial", "11b2488e04750d9d")
    return one


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("trainer-7 kernel: neuron: x", "host-1 kernel: neuron: x"),
        ("on trainer-7.cluster.acme.com.", "on host-1."),
        ("TRAINER-7 is trainer-7.cluster.acme.com is trainer-7", "host-1 is host-1 is host-1"),
        ("ip-10-1-2-3 is ip-10-1-2-3.ec2.internal", "host-1 is host-1"),
        ("from ip-10-1-2-3.ec2.internal to ip-10-1-2-4", "from host-1 to host-2"),
        ("instance-id=i-0123456789abcdef0", "instance-id=i-00000000000000001"),
        ("subnet-0a1b2c3d, vpc-01234567", f"subnet-{1:017x}, vpc-{2:017x}"),
        ("peer 10.1.2.3:29500 lost", "peer 198.18.0.1:29500 lost"),
        ("3.121.4.5", "198.18.0.1"),
        ("eth0 0e:12:34:56:78:9a", "eth0 02:00:00:00:00:01"),
        ("fe80::c12:34ff:fe56:789a", "2001:db8::1"),
        ("arn:aws:iam::123456789012:role/x", "arn:aws:iam::000000000001:role/x"),
        ("123456789012.dkr.ecr.us-east-1", "000000000001.dkr.ecr.us-east-1"),
        ("/home/bob/x.py and /home/alice/", "/home/user-2/x.py and /home/user-1/"),
        ("mail bob@acme.com", "mail user-1"),
        ("hits job llama-secret ranks 0-3", "hits job job-1 ranks 0-3"),
        ("hostname=other user=carol", "hostname=host-1 user=user-1"),
        ("uuid 0A1b2c3d-1111-2222-3333-444455556666", "uuid 00000000-0000-4000-8000-000000000001"),
        ("password=hunter2 on trainer-7", "password=*** on host-1"),
    ],
)
def test_names_in_text(redactor: Redactor, text: str, told: str) -> None:
    """Known names and names by their form."""
    assert redactor.text(text) == told


@pytest.mark.parametrize(
    "text",
    [
        f"Neuron Driver version {VERSION} loaded",
        "aws-neuronx-dkms-2.24.7.0 and v1.2.3.4 and version 9.8.7.6",
        "0000:a0:1c.0 pcieport 0000:00:01.0: AER",
        "neuron:nr_reset_thread_fn: nd0: reset request 40107 completed",
        "127.0.0.1:29500, 0.0.0.0, ::1, 169.254.169.254",
        "0::/system.slice, 12:34:56, std::vector, a train of thought",
        "serial-num=11b2488e04750d9d",
        "999.1.1.1 and 123456789012 errors",
        "root and ubuntu in /home/ubuntu",
    ],
)
def test_what_is_no_name_stays(redactor: Redactor, text: str) -> None:
    """Versions, PCI addresses, lines of the driver, counts, common words, everybody's accounts."""
    assert redactor.text(text) == text


def test_versions_that_look_like_addresses(redactor: Redactor) -> None:
    """In a field for versions, and wherever one that is known stands."""
    redactor.keep("1.14.2.1")
    told = redactor.document({"version": "2.1.0.0", "value": "1.14.2.1", "text": "2.1.0.0"})
    assert told == {"version": "2.1.0.0", "value": "1.14.2.1", "text": "198.18.0.1"}


def test_serial_numbers_go_only_with_all() -> None:
    """The same number is the same wherever it stands."""
    redactor = Redactor("all")
    redactor.learn("serial", "11b2488e04750d9d")
    told = redactor.document({"serial": "11b2488e04750d9d", "text": "chip 11b2488e04750d9d"})
    assert told == {"serial": "5e71a10000000001", "text": "chip 5e71a10000000001"}


def test_with_none_only_secrets_go() -> None:
    """Names are as they are."""
    redactor = Redactor("none")
    redactor.learn_host("trainer-7")
    assert redactor.text("trainer-7 10.1.2.3 token=hunter2") == "trainer-7 10.1.2.3 token=***"


def test_fields_of_documents(redactor: Redactor) -> None:
    """Short and common names too, where a field is for names; numbers stay numbers."""
    job = {
        "id": "x-1",
        "name": "train",
        "master": "boss:29500",
        "ranks": [
            {
                "process": {
                    "pid": 3,
                    "name": "acmed",
                    "command": "python acme.py",
                    "user": "carol",
                    "pod": {"uid": "u", "name": "p-0", "namespace": "ml"},
                }
            }
        ],
        "mapped": ["4711"],
    }
    told = redactor.document({"jobs": [job], "who": "carol (uid 1001)", "count": 3})
    one = told["jobs"][0]
    assert (one["id"], one["name"], one["master"]) == ("job-1", "job-2", "host-1:29500")
    process = one["ranks"][0]["process"]
    assert process["name"] == "program-1"
    assert process["command"] == "python program-2.py"
    assert process["user"] == "user-1"
    assert process["pod"] == {"uid": "u", "name": "pod-1", "namespace": "namespace-1"}
    assert one["mapped"] == ["900000003"]
    assert (told["who"], told["count"]) == ("user-1 (uid 1001)", 3)


def test_what_is_learned_later_counts_from_then_on(redactor: Redactor) -> None:
    """Also of a text that was seen before."""
    assert redactor.text("gizmo is here") == "gizmo is here"
    redactor.learn("job", "gizmo")
    assert redactor.text("gizmo is here") == "job-1 is here"


REAL = (
    *("trainer-7", "10.1.2.3", "i-0123456789abcdef0", "alice", "bob", "fe80::1", "ip-10-0-0-1"),
    *("0e:12:34:56:78:9a", "hunter2", "123456789012"),
)
PARTS = st.sampled_from(
    [
        *(
            "trainer-7",
            "10.1.2.3:22",
            "id=i-0123456789abcdef0",
            "(alice)",
            "/home/bob/x",
            "[fe80::1]",
        ),
        *(
            "password=hunter2",
            "ip-10-0-0-1.ec2.internal",
            "'0e:12:34:56:78:9a'",
            "user=alice",
            "é",
            "nd0",
        ),
        *(
            "arn:aws:iam::123456789012:x",
            "-",
            "\n",
            "{",
            '"trainer-7"',
            "10.1.2.3,10.1.2.3",
            "token",
        ),
    ]
)


@settings(max_examples=60)
@given(st.lists(PARTS, max_size=12).map(" ".join))
def test_nothing_real_is_left_and_a_second_time_changes_nothing(text: str) -> None:
    """Whatever stands beside what; as a document the same is told as of the text alone."""
    redactor = Redactor("all")
    redactor.learn_host("trainer-7")
    redactor.learn("user", "alice")
    told = redactor.text(text)
    assert not [real for real in REAL if real in told]
    assert redactor.text(told) == told
    assert json.loads(json.dumps(redactor.document([text]))) == [told]
