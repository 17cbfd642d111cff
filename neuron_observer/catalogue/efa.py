"""Rows of scope port and efa: Elastic Fabric Adapters below `/sys/class/infiniband`.

Source: the kernel's `efa_verbs.c` (EFA_DEFINE_DEVICE_STATS, EFA_DEFINE_PORT_STATS, efa_query_port),
`efa_com.c`, `efa_main.c` (PCI ids), and AWS's page on monitoring an EFA. A counter that an adapter
or kernel lacks has no file. `lifespan`, the milliseconds for which they are cached, is no counter.
"""

from __future__ import annotations

from neuron_observer.catalogue.spec import Detail, Format, Kind, MetricSpec, Source, Where

EFA_VENDOR = "0x1d0f"
EFA_PCI_PREFIX = "0xefa"  # 0xefa0 to 0xefa3 so far, one a generation
EFA_DRIVER = "efa"

# hw_counters entries that are known and are no counter
NOT_COUNTERS = frozenset({"lifespan"})

# Adapters of a whole instance. Fewer are no fault: how many are attached is chosen at the launch.
INSTANCE_ADAPTERS: dict[str, int] = {
    "trn1.32xlarge": 8,  # the documented lspci tree
    "trn2.48xlarge": 16,  # inferred from layout comments of a public EFA transport
}

_COUNTERS = "efa_verbs.c, EFA_DEFINE_PORT_STATS"
_SRD = "AWS: Monitor an Elastic Fabric Adapter; Nitro v4 and later"

# Of each: file, name, unit, what it counts, export detail
PORT_COUNTERS: tuple[tuple[str, str, str, str, Detail], ...] = (
    ("tx_bytes", "tx_bytes", "bytes", "Bytes sent", "core"),
    ("rx_bytes", "rx_bytes", "bytes", "Bytes received", "core"),
    ("tx_pkts", "tx_packets", "packets", "Packets sent", "core"),
    ("rx_pkts", "rx_packets", "packets", "Packets received", "core"),
    ("rx_drops", "rx_drops", "packets", "Packets received and dropped", "device"),
    ("send_bytes", "send_bytes", "bytes", "Bytes of send requests", "full"),
    ("send_wrs", "send_work_requests", "requests", "Send requests", "full"),
    ("recv_bytes", "receive_bytes", "bytes", "Bytes of receive requests", "full"),
    ("recv_wrs", "receive_work_requests", "requests", "Receive requests", "full"),
    ("rdma_read_bytes", "rdma_read_bytes", "bytes", "Bytes got with RDMA read", "core"),
    ("rdma_read_wrs", "rdma_read_work_requests", "requests", "RDMA read requests", "full"),
    ("rdma_read_wr_err", "rdma_read_errors", "requests", "RDMA read requests failed", "device"),
    (
        "rdma_read_resp_bytes",
        "rdma_read_response_bytes",
        "bytes",
        "Bytes given to RDMA reads of others",
        "core",
    ),
    ("rdma_write_bytes", "rdma_write_bytes", "bytes", "Bytes put with RDMA write", "core"),
    ("rdma_write_wrs", "rdma_write_work_requests", "requests", "RDMA write requests", "full"),
    ("rdma_write_wr_err", "rdma_write_errors", "requests", "RDMA write requests failed", "device"),
    (
        "rdma_write_recv_bytes",
        "rdma_write_receive_bytes",
        "bytes",
        "Bytes received from RDMA writes of others",
        "core",
    ),
    ("retrans_bytes", "retransmitted_bytes", "bytes", "Bytes sent again", "core"),
    ("retrans_pkts", "retransmitted_packets", "packets", "Packets sent again", "device"),
    (
        "retrans_timeout_events",
        "retransmit_timeouts",
        "events",
        "Traffic timed out and took another path",
        "device",
    ),
    (
        "unresponsive_remote_events",
        "unresponsive_remotes",
        "events",
        "A remote did not answer in time",
        "device",
    ),
    (
        "impaired_remote_conn_events",
        "impaired_connections",
        "events",
        "A connection was put under a lower throughput limit",
        "device",
    ),
)
_SRD_ONLY = {
    "retrans_bytes",
    "retrans_pkts",
    "retrans_timeout_events",
    "unresponsive_remote_events",
    "impaired_remote_conn_events",
}

# Of each: file, name, what it counts
DEVICE_COUNTERS = (
    ("submitted_cmds", "submitted_commands", "Commands given to the adapter"),
    ("completed_cmds", "completed_commands", "Commands that the adapter completed"),
    ("cmds_err", "failed_commands", "Commands that failed"),
    (
        "no_completion_cmds",
        "lost_commands",
        "Commands without an answer; after one the driver closes the command queue",
    ),
    ("keep_alive_rcvd", "keep_alives", "Signs of life from the adapter"),
    ("alloc_pd_err", "protection_domain_errors", "Protection domains not made"),
    ("alloc_ucontext_err", "context_errors", "User contexts not made"),
    ("create_qp_err", "queue_pair_errors", "Queue pairs not made"),
    ("create_cq_err", "completion_queue_errors", "Completion queues not made"),
    ("create_ah_err", "address_handle_errors", "Address handles not made"),
    ("reg_mr_err", "memory_registration_errors", "Memory regions not registered"),
    ("alloc_mr_err", "memory_allocation_errors", "Memory regions not made (kernel verbs)"),
    ("get_dma_mr_err", "dma_memory_errors", "DMA memory regions not made (kernel verbs)"),
    ("mmap_err", "mapping_errors", "Mappings into a process that failed"),
)


# what screens call a row where its name would be too long
_HEADINGS = {
    "tx_bytes": "Sent",
    "rx_bytes": "Received",
    "retransmitted_packets": "Sent again",
    "retransmit_timeouts": "Timeouts",
    "unresponsive_remotes": "Silent",
    "impaired_connections": "Impaired",
    "rx_drops": "Drops",
    "rdma_read_bytes": "RDMA read",
    "rdma_write_bytes": "RDMA write",
    "rdma_read_errors": "Read errors",
    "rdma_write_errors": "Write errors",
}


def _port_counter(file: str, name: str, unit: str, text: str, detail: Detail) -> MetricSpec:
    path, fact = f"hw_counters/{file}", _SRD if file in _SRD_ONLY else _COUNTERS
    return MetricSpec(
        id=f"efa.port.{name}",
        scope="port",
        kind=Kind.COUNTER,
        unit=unit,
        help=text,
        sources=(
            Source("port", path, fact=fact),
            Source("efa", path, fact="older kernels give one list for adapter and port"),
        ),
        lane="normal",
        family=f"efa_port_{name}_total",
        detail=detail,
        column=_HEADINGS.get(name),
    )


def _device_counter(file: str, name: str, text: str) -> MetricSpec:
    path = f"hw_counters/{file}"
    return MetricSpec(
        id=f"efa.{name}",
        scope="efa",
        kind=Kind.COUNTER,
        unit="errors" if file.endswith("_err") else "commands",
        help=text,
        sources=(
            Source("efa", path, fact="efa_verbs.c, EFA_DEFINE_DEVICE_STATS: kept by the driver"),
            Source("port", path, fact="older kernels give one list for adapter and port"),
        ),
        lane="slow",
        family=f"efa_{name}_total",
        detail="device" if file in ("cmds_err", "no_completion_cmds") else "full",
    )


# The kernel's names, InfiniBand core, sysfs.c
STATES = {
    "state": ("NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"),
    "phys_state": (
        *("Sleep", "Polling", "Disabled", "PortConfigurationTraining"),
        *("LinkUp", "LinkErrorRecovery", "Phy Test"),
    ),
}


def _port_text(name: str, form: Format, kind: Kind, text: str, fact: str) -> MetricSpec:
    return MetricSpec(
        id=f"efa.port.{name}",
        scope="port",
        kind=kind,
        unit="",
        help=text,
        sources=(Source("port", name, form, fact=fact),),
        lane="slow",
        family="efa_port_info" if kind is Kind.INFO else f"efa_port_{name}",
        detail="full",
        states=STATES.get(name, ()),
    )


def _identity(name: str, where: Where, path: str, form: Format, text: str) -> MetricSpec:
    return MetricSpec(
        id=f"efa.{name}",
        scope="efa",
        kind=Kind.INFO,
        unit="",
        help=text,
        sources=(Source(where, path, form),),
        lane="slow",
        family="efa_info",
        detail="device",
    )


_CONSTANT = "efa_verbs.c, efa_query_port: a constant, so it tells nothing about the link"

PORT_METRICS: tuple[MetricSpec, ...] = (
    _port_text(
        "state",
        "port_state",
        Kind.STATE,
        "State of the port; the efa driver always says ACTIVE",
        _CONSTANT,
    ),
    _port_text(
        "phys_state",
        "port_state",
        Kind.STATE,
        "Physical state of the port; the efa driver always says LinkUp",
        _CONSTANT,
    ),
    _port_text("link_layer", "word", Kind.INFO, "Link layer", "InfiniBand core"),
    MetricSpec(
        id="efa.port.rate",
        scope="port",
        kind=Kind.GAUGE,
        unit="gigabits per second",
        help="Nominal rate of the port; older kernels always say 100",
        sources=(
            Source(
                "port",
                "rate",
                "decimal",
                fact="efa_verbs.c, efa_query_port: a property of the adapter, not measured",
            ),
        ),
        lane="slow",
        family="efa_port_rate_bytes_per_second",
        scale=125e6,
        detail="device",
        column="Gb/s",
    ),
    *(_port_counter(*row) for row in PORT_COUNTERS),
)

EFA_METRICS: tuple[MetricSpec, ...] = (
    _identity("firmware", "efa", "fw_ver", "word", "Firmware of the adapter"),
    _identity("node_guid", "efa", "node_guid", "word", "GUID of the adapter"),
    _identity("pci_device_id", "pci", "device", "word", "PCI device id: tells the generation"),
    _identity("numa_node", "pci", "numa_node", "number", "NUMA node; -1: unknown"),
    *(_device_counter(*row) for row in DEVICE_COUNTERS),
)
