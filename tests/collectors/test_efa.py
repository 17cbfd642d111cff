"""Adapters read from listings: their counters, what is none of theirs, and one bad file's cost."""

from __future__ import annotations

import errno
import json
from itertools import repeat
from pathlib import Path

import pytest

from neuron_observer.catalogue.efa import DEVICE_COUNTERS, INSTANCE_ADAPTERS, PORT_COUNTERS
from neuron_observer.clock import ManualClock
from neuron_observer.collectors.adapters import find_adapters
from neuron_observer.collectors.efa import EfaCollector
from neuron_observer.collectors.topology import PciFunction, read_topology
from neuron_observer.model import Batch, Cell, Missing, Place, Why
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.listing import ListingFs

TREES = Path(__file__).parent.parent / "trees" / "machine"
PORT = Place(label="rdmap0s31/1")
REAL = "sys/devices/pci0000:00/0000:00:1f.0/infiniband/rdmap0s31"
COUNTERS = f"{REAL}/ports/1/hw_counters"
BOTH = ("normal", "slow")


def listing(name: str) -> ListingFs:
    """One of the listings of this directory's data."""
    return ListingFs.open(str(TREES / f"{name}.tsv"))


def write_listing(folder: Path, *rows: tuple[str, str, str]) -> ListingFs:
    """A small listing made for one test."""
    file = folder / "tree.tsv"
    file.write_text("".join(f"{kind}\t{path}\t{json.dumps(text)}\n" for kind, path, text in rows))
    return ListingFs.open(str(file))


def cells(batches: list[Batch], place: Place) -> dict[str, Cell]:
    """Metric → cell of one place over all batches."""
    return {
        metric: batch.cells[row]
        for batch in batches
        for (metric, where), row in batch.layout.rows.items()
        if where == place
    }


def test_every_counter_of_a_new_adapter_is_read() -> None:
    """All files that the guide documents give a value; what is not there is unsupported."""
    efa = EfaCollector(listing("efa-one"), ManualClock())
    port = cells(efa.poll(BOTH), PORT)
    assert {port[f"efa.port.{name}"] for _, name, *_ in PORT_COUNTERS} == {0}
    assert (port["efa.port.state"], port["efa.port.phys_state"]) == ("ACTIVE", "LinkUp")
    assert port["efa.port.rate"] == 100
    device = cells(efa.poll(BOTH), Place(label="rdmap0s31"))
    assert device["efa.submitted_commands"] == 512
    missing = device["efa.memory_allocation_errors"]
    assert isinstance(missing, Missing)
    assert missing.why is Why.UNSUPPORTED
    assert set(device) > {f"efa.{name}" for _, name, _ in DEVICE_COUNTERS}
    assert efa.ignored == ()


def test_sources_name_the_files() -> None:
    """A row says which file below /sys it comes from."""
    (batch,) = EfaCollector(listing("efa-one"), ManualClock()).poll(("normal",))
    row = batch.layout.rows["efa.port.rx_drops", PORT]
    assert f"sys/{batch.layout.sources[row]}" == f"{COUNTERS}/rx_drops"


def test_counters_that_a_generation_lacks_are_unsupported_and_never_zero() -> None:
    """E14: an older adapter has traffic and no retransmissions; the latter are not 0."""
    port = cells(
        EfaCollector(listing("trn1.32xlarge-efa"), ManualClock()).poll(BOTH),
        Place(label="rdmap160s26/1"),
    )
    assert port["efa.port.rx_bytes"] == 160 * 1000 + 26
    for name in ("rdma_write_bytes", "retransmitted_bytes", "impaired_connections"):
        missing = port[f"efa.port.{name}"]
        assert isinstance(missing, Missing)
        assert missing.why is Why.UNSUPPORTED


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        (Fault(error=errno.EINVAL), "EINVAL"),
        (Fault(error=errno.EACCES), "EACCES"),
        (Fault(contents=repeat(b"N/A (no PMA)\n")), "no number"),
        (Fault(contents=repeat(b"")), "empty"),
    ],
)
def test_one_unreadable_counter_costs_only_itself(fault: Fault, detail: str) -> None:
    """E13: EINVAL, EACCES or text in one file; all others keep their values."""
    host = FaultyFs(listing("efa-one"), {f"{COUNTERS}/rx_drops": fault})
    port = cells(EfaCollector(host, ManualClock()).poll(("normal",)), PORT)
    bad = port.pop("efa.port.rx_drops")
    assert isinstance(bad, Missing)
    assert bad.detail == detail
    assert set(port.values()) == {0}


def test_a_folder_that_cannot_be_listed_says_why() -> None:
    """EACCES on hw_counters is denied, not a generation without counters."""
    host = FaultyFs(listing("efa-one"), {COUNTERS: Fault(error=errno.EACCES)})
    port = cells(EfaCollector(host, ManualClock()).poll(("normal",)), PORT)
    missing = port["efa.port.tx_bytes"]
    assert isinstance(missing, Missing)
    assert missing.why is Why.DENIED


def test_an_adapter_of_another_maker_is_not_called_efa() -> None:
    """A ConnectX bridge in the class is named with its driver and not read."""
    efa = EfaCollector(listing("connectx"), ManualClock())
    assert efa.found.others == (("mlx5_0", "mlx5_core"),)
    assert not any(batch.cells for batch in efa.poll(BOTH))
    assert "no EFA" in efa.found.reason


def test_a_host_without_the_class_has_no_rows_and_a_reason() -> None:
    """No InfiniBand class: nothing is read and nothing is 0."""
    efa = EfaCollector(listing("host"), ManualClock())
    assert not any(batch.cells for batch in efa.poll(BOTH))
    assert efa.found.reason == "the kernel has no InfiniBand class"


def test_unknown_counters_are_ignored_and_counted(tmp_path: Path) -> None:
    """A file of a later generation costs nothing and is named; lifespan is not among them."""
    base = "class/infiniband/rdmap0s31"
    host = write_listing(
        tmp_path,
        ("0444", f"{base}/device/vendor", "0x1d0f\n"),
        ("0444", f"{base}/ports/1/hw_counters/tx_bytes", "17\n"),
        ("0444", f"{base}/ports/1/hw_counters/quantum_flux", "3\n"),
        ("0644", f"{base}/ports/1/hw_counters/lifespan", "12\n"),
    )
    efa = EfaCollector(host, ManualClock())
    assert efa.ignored == (f"{base}/ports/1/hw_counters/quantum_flux",)
    assert efa.found.efa[0].known_by == "vendor"
    assert cells(efa.poll(("normal",)), PORT)["efa.port.tx_bytes"] == 17


def test_an_adapter_is_known_by_its_counters_where_nothing_else_is_seen(tmp_path: Path) -> None:
    """Without a PCI directory the names of the counters decide; other names are no EFA."""
    rows = [
        ("0444", f"class/infiniband/{device}/ports/1/hw_counters/{name}", "0\n")
        for device, names in (
            ("efa0", ("send_wrs", "recv_wrs", "rx_drops")),
            ("other0", ("rx_write_requests", "out_of_sequence")),
        )
        for name in names
    ]
    found = find_adapters(write_listing(tmp_path, *rows))
    assert [(one.name, one.known_by) for one in found.efa] == [("efa0", "counters")]
    assert found.others == (("other0", "unknown"),)


def test_older_kernels_with_one_list_for_adapter_and_port(tmp_path: Path) -> None:
    """Device counters that stand with the port's are read there, as there is one port."""
    base = "class/infiniband/rdmap0s31"
    rows = [
        ("0444", f"{base}/ports/1/hw_counters/{name}", "5\n") for name in ("tx_bytes", "cmds_err")
    ]
    host = write_listing(tmp_path, ("0444", f"{base}/device/vendor", "0x1d0f\n"), *rows)
    device = cells(EfaCollector(host, ManualClock()).poll(("slow",)), Place(label="rdmap0s31"))
    assert device["efa.failed_commands"] == 5


def test_each_adapter_is_placed_beside_the_functions_of_its_bus() -> None:
    """trn1.32xlarge: two adapters and four chips on each of four buses; rdmap160s26 is a0:1a.0."""
    host = listing("trn1.32xlarge-efa")
    places = EfaCollector(host, ManualClock(), read_topology(host).functions).efa_map()
    assert len(places) == INSTANCE_ADAPTERS["trn1.32xlarge"] == 8
    by_name = {place.adapter: place for place in places}
    place = by_name["rdmap160s26"]
    assert (place.address, place.numa, place.by) == ("0000:a0:1a.0", 1, "bus")
    assert place.functions == tuple(f"0000:a0:{slot}.0" for slot in ("1b", "1c", "1d", "1e"))


@pytest.mark.parametrize(
    ("paths", "by", "near"),
    [
        (("pci0000:00/0000:00:02.0/0000:07:00.0", "pci0000:00/0000:08:00.0"), "unknown", ()),
        (("pci0000:00/0000:07:00.0",), "root", ("0000:07:00.0",)),
        (("pci0000:00/0000:07:00.0", "pci0000:80/0000:87:00.0"), "root", ("0000:07:00.0",)),
        (
            ("pci0000:00/0000:00:01.0/0000:07:00.0", "pci0000:00/0000:00:02.0/0000:08:00.0"),
            "bridge",
            ("0000:07:00.0",),
        ),
        ((), "unknown", ()),
    ],
)
def test_nearness_is_claimed_only_where_a_fact_tells_functions_apart(
    tmp_path: Path, paths: tuple[str, ...], by: str, near: tuple[str, ...]
) -> None:
    """A common bridge, then a root; what all functions share is no answer."""
    bridged = by == "bridge"
    pci = f"devices/pci0000:00/{'0000:00:01.0/' if bridged else ''}0000:06:00.0"
    host = write_listing(
        tmp_path,
        ("0444", f"{pci}/vendor", "0x1d0f\n"),
        ("0444", f"{pci}/device", "0xefa1\n"),
        ("l", "class/infiniband/rdmap6s0", f"../../{pci}/infiniband/rdmap6s0"),
        ("0444", f"{pci}/infiniband/rdmap6s0/fw_ver", "1\n"),
    )
    functions = [
        PciFunction(path.rpartition("/")[2], f"sys/devices/{path}", "Trainium2", bound=True)
        for path in paths
    ]
    (place,) = EfaCollector(host, ManualClock(), functions).efa_map()
    assert (place.by, place.functions) == (by, near)


def test_numa_decides_where_the_bus_does_not(tmp_path: Path) -> None:
    """All functions on one root, two NUMA nodes: those of the adapter's node are near."""
    root = "devices/pci0000:00"
    rows = [("0444", f"{root}/0000:0{n}:00.0/numa_node", f"{n % 2}\n") for n in (1, 2, 3, 4)]
    rows += [
        ("0444", f"{root}/0000:06:00.0/vendor", "0x1d0f\n"),
        ("0444", f"{root}/0000:06:00.0/device", "0xefa1\n"),
        ("0444", f"{root}/0000:06:00.0/numa_node", "1\n"),
        ("l", "class/infiniband/efa0", f"../../{root}/0000:06:00.0/infiniband/efa0"),
        ("0444", f"{root}/0000:06:00.0/infiniband/efa0/fw_ver", "1\n"),
    ]
    functions = [
        PciFunction(f"0000:0{n}:00.0", f"sys/{root}/0000:0{n}:00.0", "Trainium2", bound=True)
        for n in (1, 2, 3, 4)
    ]
    efa = EfaCollector(write_listing(tmp_path, *rows), ManualClock(), functions)
    (place,) = efa.efa_map()
    assert (place.by, place.functions) == ("numa", ("0000:01:00.0", "0000:03:00.0"))


def test_an_adapter_that_goes_and_comes_back_is_seen_by_the_slow_lane() -> None:
    """Hot plug: the rows go with the adapter (an empty batch replaces the old) and return."""
    host = FaultyFs(listing("efa-one"))
    efa = EfaCollector(host, ManualClock())
    host.faults = {
        "sys/class/infiniband/rdmap0s31": Fault(hidden=True),
        REAL: Fault(hidden=True),
    }
    assert isinstance(cells(efa.poll(("normal",)), PORT)["efa.port.tx_bytes"], Missing)
    assert not any(batch.cells for batch in efa.poll(BOTH))
    host.faults = {}
    efa.poll(("slow",))
    assert cells(efa.poll(("normal",)), PORT)["efa.port.tx_bytes"] == 0


def test_only_the_normal_lane_keeps_descriptors(tmp_path: Path) -> None:
    """One descriptor a counter of the port, none for the slow lane; all are given back."""
    base = tmp_path / "sys/class/infiniband/rdmap0s31"
    for name, text in (
        ("device/vendor", "0x1d0f\n"),
        ("ports/1/hw_counters/tx_bytes", "1\n"),
        ("ports/1/hw_counters/rx_bytes", "2\n"),
        ("ports/1/state", "4: ACTIVE\n"),
    ):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    efa = EfaCollector(DirectoryFs(str(tmp_path)), ManualClock(), keep=True)
    assert cells(efa.poll(BOTH), PORT)["efa.port.rx_bytes"] == 2
    assert efa.kept == 2
    (base / "ports/1/hw_counters/rx_bytes").write_text("3\n")
    (batch,) = efa.poll(("normal",))
    assert [batch.cells[row] for row in batch.changed] == [3]
    efa.close()
    assert efa.kept == 0
