"""The EFA rows against the files that adapters have and the names that others use."""

from __future__ import annotations

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.catalogue.efa import EFA_METRICS, NOT_COUNTERS, PORT_COUNTERS, PORT_METRICS

# Files of ports/1/hw_counters by the EC2 user guide's page "Monitor an Elastic Fabric Adapter".
FILES = (
    "lifespan rdma_read_bytes rdma_read_resp_bytes rdma_read_wr_err rdma_read_wrs rdma_write_bytes "
    "rdma_write_recv_bytes rdma_write_wr_err rdma_write_wrs recv_bytes recv_wrs rx_bytes rx_drops "
    "rx_pkts send_bytes send_wrs tx_bytes tx_pkts retrans_bytes retrans_pkts "
    "retrans_timeout_events unresponsive_remote_events impaired_remote_conn_events"
)
DOCUMENTED = FILES.split()


def test_every_documented_port_counter_has_a_row() -> None:
    """Nothing that the guide lists is left out, and nothing else is counted."""
    assert {file for file, *_ in PORT_COUNTERS} | NOT_COUNTERS == set(DOCUMENTED)


def test_the_cache_time_is_no_counter() -> None:
    """`lifespan` is read by no row."""
    paths = {source.path for spec in METRICS.values() for source in spec.sources}
    assert not any(path.endswith("lifespan") for path in paths)


def test_no_family_is_one_of_the_exported_names_of_aws() -> None:
    """AWS's exporter calls the file tx_bytes neuron_efa_tx_bytes_total; ours is another name."""
    theirs = {f"efa_{file}{end}" for file in DOCUMENTED for end in ("", "_total")}
    assert not theirs & {spec.family for spec in (*PORT_METRICS, *EFA_METRICS)}


def test_counters_and_only_counters_end_in_total() -> None:
    """The names follow Prometheus' convention."""
    for spec in (*PORT_METRICS, *EFA_METRICS):
        assert spec.family.endswith("_total") == (spec.kind is Kind.COUNTER), spec.id


def test_rows_are_registered_with_their_scope() -> None:
    """The catalogue holds all of them, ports and adapters told apart."""
    assert {METRICS[spec.id].scope for spec in PORT_METRICS} == {"port"}
    assert {METRICS[spec.id].scope for spec in EFA_METRICS} == {"efa"}
