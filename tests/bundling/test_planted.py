"""Everything about somebody that can be planted on a host, and what of it is in its bundle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.bundling import Asked, bundle
from neuron_observer.client import Client
from neuron_observer.client.address import Address
from neuron_observer.clock import ManualClock
from neuron_observer.config import Sources
from neuron_observer.model import Event, Place
from neuron_observer.rules.memory import Memory, Word
from neuron_observer.store.acts import Act
from tests.bundling.hosts import WALL, document, everything, keep, members
from tests.conftest import tree_file

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.bundle.names import Level

SERIAL = "11b2488e04750d9d"
# never in any bundle, whatever is redacted
SECRETS = (
    *("wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0", "hunter2-environment", "hunter2-command"),
    *("hunter2-kernel", "hunter2-monitor", "hunter2-log", "hunter2-recording", "hunter2-reason"),
    *("hunter2-web", "hf_abcdefghijklmnop", "AKIAIOSFODNN7EXAMPLE", "hunter2-uri"),
)
HASH = "$2y$10$abcdefghijklmnopqrstuvA1b2A1b2A1b2A1b2A1b2A1b2A1b2xyz"
# names and ids: not with `ids`, nor with `all`
NAMES = (
    *(
        "trainer-7",
        "cluster.acme.com",
        "other-host-9",
        "i-0123456789abcdef0",
        "subnet-0a1b2c3d4e5f60718",
    ),
    *("123456789012", "10.11.12.13", "fe80::c12:34ff:fe56:789a", "0e:12:34:56:78:9a", "alice"),
    *(
        "bob-builder",
        "acme-llama",
        "acme_secret_model",
        "/fsx/acme",
        "ip-10-11-12-14",
        "acmetrainerd",
    ),
    *("ab" * 32, "acme-pod-0", "0a1b2c3d-1111-2222-3333-444455556666", "acme-unit", "mallory"),
)


def _environment() -> str:
    pairs = {
        "AWS_SECRET_ACCESS_KEY": SECRETS[0],
        "MY_PLAIN_VARIABLE": "hunter2-environment",
        "HF_TOKEN": "hf_abcdefghijklmnop",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "other-host-9.cluster.acme.com",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "acme-llama",
    }
    return "".join(f"{name}={value}\0" for name, value in pairs.items())


def _command() -> str:
    words = ["/home/alice/venv/bin/python", "/fsx/acme/acme_secret_model.py", "--hf-token"]
    words += [
        "hunter2-command",
        "--data=/fsx/acme/data",
        "--url",
        "https://u:hunter2-uri@acme.com/",
    ]
    return "".join(f"{word}\0" for word in words)


def _kernel() -> list[str]:
    return [
        "6,1,1000,-;arn:aws:iam::123456789012:role/x (bob-builder@ip-10-11-12-14.ec2.internal)",
        "6,1,1500,-;eni on subnet-0a1b2c3d4e5f60718",
        (
            "3,2,2000,-;NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0123456789abcdef0"
            f" hostname=trainer-7 nd-id=0 nc-id=0 serial-num={SERIAL} action=TERMINATE_INSTANCE"
        ),
        "4,3,3000,-;neuron:npid_attach: pid=4242, slot=0",
        "6,4,4000,-;audit: user=mallory cmd=/bin/x password=hunter2-kernel",
        "6,5,5000,-;eth0: 0e:12:34:56:78:9a from 10.11.12.13 to fe80::c12:34ff:fe56:789a",
    ]


def _host(folder: Path) -> str:
    uid = "0a1b2c3d_1111_2222_3333_444455556666"
    files = {
        "proc/sys/kernel/hostname": "trainer-7.cluster.acme.com\n",
        "etc/passwd": "root:x:0:0:::\nalice:x:1001:1001:::\n",
        "proc/1/comm": "systemd\n",
        "proc/2/comm": "kthreadd\n",
        "proc/1/stat": f"1 (systemd) S 0 1 1{' 0' * 16} 5 0 3000{' 0' * 30}\n",
        "proc/4242/comm": "acmetrainerd\n",
        "proc/4242/cmdline": _command(),
        "proc/4242/environ": _environment(),
        "proc/4242/cgroup": f"0::/kubepods.slice/kubepods-pod{uid}.slice/cri-containerd-{'ab' * 32}"
        ".scope/acme-unit.service\n",
        "proc/4242/status": "Name:\tacmetrainerd\nUid:\t1001\t1001\t1001\t1001\nNSpid:\t4242\n",
        "proc/4242/stat": f"4242 (acmetrainerd) S 1 1 1{' 0' * 16} 500 0 3000{' 0' * 30}\n",
    }
    links = {"proc/4242/fd/17": "/dev/neuron0"}
    rows = [f"#host {json.dumps([path, '0444', text])}" for path, text in files.items()]
    rows += [f"#host {json.dumps([path, 'l', to])}" for path, to in links.items()]
    rows += [f"#kernel {json.dumps([0.0, line])}" for line in _kernel()]
    asset = '0444\tdevices/virtual/dmi/id/board_asset_tag\t"i-0123456789abcdef0\\n"'
    head = '#capture {"at": "2026-08-29T10:40:30.000Z"}'
    tree = tree_file("trn2.3xlarge-2.30.2-busy").read_text(encoding="utf-8")
    file = folder / "host.tsv"
    file.write_text("\n".join([head, tree.rstrip("\n"), asset, *rows]) + "\n", encoding="utf-8")
    return str(file)


def _state(folder: Path) -> Path:
    """What a daemon keeps: an event, what people said, a recording."""
    state = folder / "state"
    (state / "recordings").mkdir(parents=True)
    word = Word(
        "mallory (uid 1002)",
        WALL,
        "see https://u:hunter2-reason@acme.com, says bob-builder@acme.com",
    )
    act = Act("set-healthy", word, device=0)
    event = Event("x", Place(0), WALL - 60, "trainer-7 lost 10.11.12.13, token=hunter2-kernel")
    memory = Memory(keys={0: SERIAL}, baselines={(SERIAL, "device.sram.ecc_uncorrected"): 0})
    keep(state, memory, "i-0123456789abcdef0", event, acts=(act,))
    rows = [
        '#capture {"schema": "neuron-observer/recording/1"}',
        f"#host {json.dumps(['proc/4242/environ', '0444', 'SECRET_X=hunter2-recording' + chr(0)])}",
        f"#kernel {json.dumps([1.0, 'trainer-7 says password=hunter2-recording'])}",
    ]
    name = "20261130T100000Z-sram-trainer-7.nobs.gz"
    (state / "recordings" / name).write_text("\n".join(rows), encoding="utf-8")
    return state


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """A call on a host that is full of names and secrets."""
    host, state = _host(tmp_path), _state(tmp_path)
    web = tmp_path / "web-of-alice.yml"
    web.write_text(f"basic_auth_users:\n  hunter2-web: {HASH}\n", encoding="utf-8")
    config = tmp_path / "config.yaml"
    config.write_text(
        "web:\n  config_file: /home/alice/web.yml\nstate:\n  directory: /home/alice/state\n"
        "listen: 10.11.12.13:9744\n",
        encoding="utf-8",
    )
    monitor, listing, log = (tmp_path / name for name in ("monitor.json", "ls.txt", "our.log"))
    report = {
        "instance_info": {"instance_name": "trainer-7", "subnet_id": "subnet-0a1b2c3d4e5f60718"},
        "neuron_k8s_info": {"pod_name": "acme-pod-0", "password": "hunter2-monitor"},
    }
    monitor.write_text(json.dumps(report) + "\n", encoding="utf-8")
    listing.write_text(
        "instance-id: i-0123456789abcdef0\n| python /home/alice/x.py |\n", encoding="utf-8"
    )
    log.write_text(
        "2026-11-30T10:00:00 trainer-7 neuron-observer[1]: secret=hunter2-log alice\n",
        encoding="utf-8",
    )
    return Asked(
        host,
        str(config),
        Sources(str(config)),
        ManualClock(WALL),
        state=str(state),
        client=Client(Address("unix", path="/home/alice/o.sock"), patience=0.5),
        monitor=str(monitor),
        neuron_ls=str(listing),
        log=str(log),
    )


@pytest.mark.parametrize("level", ["all", "ids", "none"])
def test_what_of_it_is_in_the_bundle(asked: Asked, level: Level) -> None:
    """The whole archive, unpacked as deep as it is packed, is searched for all that was planted."""
    made = bundle(asked._replace(level=level))
    whole = everything(made.data).decode("utf-8", "replace")
    assert [secret for secret in (*SECRETS, HASH) if secret in whole] == []
    found = [name for name in NAMES if name in whole]
    assert (found == []) == (level != "none"), found
    assert (SERIAL in whole) == (level != "all")


def test_all_members_are_there(asked: Asked) -> None:
    """Nothing that was planted was simply not looked at."""
    made = bundle(asked._replace(level="none"))
    assert members(made.data).keys() == {
        *("manifest.json", "README.txt", "findings.json", "kernel.log", "versions.json"),
        *("doctor.json", "counters.json", "events.json", "jobs.json", "topology.json", "acts.json"),
        *("configuration.txt", "observer.log", "neuron-ls.txt", "neuron-monitor.txt"),
        *("snapshot.json", "capture.tsv.gz", "recordings/20261130T100000Z-sram-trainer-7.nobs.gz"),
    }
    (gone,) = made.contents.left_out
    assert gone.what == "what a daemon knows"
    assert "/home/alice/o.sock" in gone.why
    whole = everything(made.data).decode("utf-8", "replace")
    assert [name for name in NAMES if name not in whole] == []


def test_the_same_host_is_the_same_everywhere(asked: Asked) -> None:
    """In the kernel log, the events, our log, the capture: so a fault can be followed."""
    made = bundle(asked)
    names = {one["name"]: one["stands_as"] for one in made.redactor.names.table()}
    host, user = names["trainer-7"], names["alice"]
    packed = members(made.data)
    for name in ("kernel.log", "events.json", "observer.log", "neuron-monitor.txt"):
        assert host in packed[name].decode(), name
    jobs: dict[str, Any] = document(made.data, "jobs.json")
    (job,) = jobs["jobs"]
    assert job["ranks"][0]["process"]["user"] == user
    assert job["run_id"] == names["acme-llama"]
    assert f"/home/{user}/x.py" in packed["neuron-ls.txt"].decode()
    (act,) = json.loads(packed["acts.json"])
    assert act["who"] == "user-2 (uid 1002)"
    counts = document(made.data, "manifest.json")["redaction"]["replaced"]
    assert counts["user"] >= 3
