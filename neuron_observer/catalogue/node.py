"""Rows of scope node and pci: class attributes, the kernel module, DMI, PCI functions.

Source: driver 2.24.7 `neuron_cdev.c`, `v3/neuron_pelect.c`; 2.30.2 `neuron_cdev.c`
(ncdev_platform_class_attrs); the kernel's own documentation for module, DMI and PCI files.
"""

from __future__ import annotations

from neuron_observer.catalogue.spec import Format, Kind, MetricSpec, Source, Version, Where

# (parameter, default, help); readable by root only (mode 0660)
PARAMETERS = (
    ("dev_nc_map", "1", "cores in use, emulation only"),
    ("dma_teardown_on_exit", "1", "tear DMA down when a process exits"),
    ("dup_helper_enable", "1", "unload the driver when two devices claim one id"),
    ("enable_sysfs_health_status_nodes", "Y", "offer health_status (2.28 and 2.29)"),
    ("force_die_flip", "0", "development only"),
    ("force_userver", "0", "development only"),
    ("mempool_host_memory_size", "33554432", "host memory pool, bytes"),
    ("mempool_min_alloc_size", "4096", "least allocation, bytes"),
    ("mempool_small_alloc_max", "524288", "largest small allocation, bytes"),
    ("mempool_small_pool_size", "1073741824", "pool of small allocations, bytes"),
    ("nc_per_dev_param", "1", "cores a device, emulation only"),
    ("nmetric_log_posts", "1", "post telemetry; 0 also stops the health cache from about 2.28 on"),
    ("nmetric_metric_post_delay", "150000", "period of telemetry, milliseconds"),
    ("no_reset", "0", "never reset a device; not for production"),
    ("pds_reservation_id", "1", "reservation of an UltraServer"),
    ("reset_top_dma", "0", "reset DMA at the top"),
    ("userver_ctl", "0", "UltraServer election control"),
    ("userver_etimeout", "600", "UltraServer election time-out, seconds"),
    ("userver_pds_node_cnt", "2", "UltraServer nodes (2.25 and 2.26)"),
    ("userver_pds_server_id", "1", "UltraServer id (2.25 and 2.26)"),
    ("wc_enable", "1", "write combining"),
    ("zerocopy_trn1_override", "0", "zero copy on trn1"),
)

# Identity of one thing is one family, each row a label of it.
_FAMILIES = {
    "node": "node_info",
    "driver": "driver_info",
    "driver.parameter": "driver_parameter_info",
    "ultraserver": "ultraserver_info",
}
_STATES = {
    "driver.state": ("coming", "live", "going"),
    "ultraserver.mode": ("1", "2", "3", "4"),
}
_ENDINGS = {"GT/s": "_transfers_per_second"}


def _node(
    name: str,
    where: Where,
    path: str,
    form: Format,
    kind: Kind,
    text: str,
    since: Version | None = None,
) -> MetricSpec:
    return MetricSpec(
        id=name,
        scope="node",
        kind=kind,
        unit="",
        help=text,
        sources=(Source(where, path, form, since=since),),
        lane="slow",
        family=_FAMILIES[name.rpartition(".")[0]] if kind is Kind.INFO else name.replace(".", "_"),
        detail="node",
        states=_STATES.get(name, ()),
    )


def _pci(
    name: str, path: str, form: Format, kind: Kind, text: str, unit: str = "", part: str = ""
) -> MetricSpec:
    return MetricSpec(
        id=f"pci.{name}",
        scope="pci",
        kind=kind,
        unit=unit,
        help=text,
        sources=(
            Source("pci", path, form, part=part, fact="the kernel's; may be absent in a guest"),
        ),
        lane="slow",
        family="pci_info"
        if kind is Kind.INFO and "maximum" not in name
        else f"pci_{name}" + ("_total" if kind is Kind.COUNTER else _ENDINGS.get(unit, "")),
        scale=1e9 if unit == "GT/s" else 1.0,
        detail="device",
    )


NODE_METRICS: tuple[MetricSpec, ...] = (
    _node(
        "node.instance_type",
        "dmi",
        "product_name",
        "word",
        Kind.INFO,
        "Instance type",
    ),
    _node(
        "node.vendor",
        "dmi",
        "sys_vendor",
        "word",
        Kind.INFO,
        "Who made the machine",
    ),
    _node(
        "driver.version",
        "module",
        "version",
        "word",
        Kind.INFO,
        "Version of the loaded driver",
    ),
    _node(
        "driver.state",
        "module",
        "initstate",
        "word",
        Kind.STATE,
        "Coming, live or going",
    ),
    _node("driver.references", "module", "refcnt", "number", Kind.GAUGE, "Users of the driver"),
    _node(
        "driver.source_version",
        "module",
        "srcversion",
        "word",
        Kind.INFO,
        "Checksum of the driver's source",
    ),
    _node(
        "driver.taint",
        "module",
        "taint",
        "line",
        Kind.INFO,
        "Taint flags: O out of tree, E unsigned",
    ),
    *(
        _node(
            f"driver.parameter.{name}",
            "module",
            f"parameters/{name}",
            "line",
            Kind.INFO,
            f"{text[0].upper()}{text[1:]}; default {default}",
        )
        for name, default, text in PARAMETERS
    ),
    _node(
        "ultraserver.node_id_2",
        "class",
        "node_id_2",
        "class_number",
        Kind.STATE,
        "Place in a 2-node UltraServer; -1: not a member",
        (2, 23, 9),
    ),
    _node(
        "ultraserver.node_id_4",
        "class",
        "node_id_4",
        "class_number",
        Kind.STATE,
        "Place in a 4-node UltraServer; -1: not a member",
        (2, 23, 9),
    ),
    _node(
        "ultraserver.server_id_2",
        "class",
        "server_id_2",
        "class_hex",
        Kind.INFO,
        "2-node UltraServer; zeros: none",
        (2, 23, 9),
    ),
    _node(
        "ultraserver.server_id_4",
        "class",
        "server_id_4",
        "class_hex",
        Kind.INFO,
        "4-node UltraServer; zeros: none",
        (2, 23, 9),
    ),
    _node(
        "ultraserver.mode",
        "class",
        "ultraserver_mode",
        "class_line",
        Kind.STATE,
        "Modes: 1 four nodes, 2 two horizontal, 3 two vertical, 4 single; empty: none",
        (2, 23, 9),
    ),
    _node(
        "ultraserver.node_id",
        "class",
        "node_id",
        "class_number",
        Kind.STATE,
        "Place in the UltraServer",
        (2, 28, 0),
    ),
    _node(
        "ultraserver.node_count",
        "class",
        "node_cnt",
        "class_number",
        Kind.STATE,
        "Nodes of the UltraServer; 0: not known yet",
        (2, 28, 0),
    )._replace(family="ultraserver_nodes"),  # `_count` is a suffix of histograms
    _node(
        "ultraserver.reservation_id",
        "class",
        "reservation_id",
        "class_hex",
        Kind.INFO,
        "Reservation; zeros: none",
        (2, 28, 0),
    ),
    _node(
        "node.hbm_7200_capable",
        "class",
        "hbm_7200_capable",
        "class_number",
        Kind.STATE,
        "HBM can run at 7,200; init_error: a device is missing",
        (2, 28, 0),
    ),
    _node(
        "node.performance_profile",
        "class",
        "current_perf_profile",
        "class_number",
        Kind.STATE,
        "Power profile; -1: devices differ",
        (2, 28, 0),
    ),
)

PCI_METRICS: tuple[MetricSpec, ...] = (
    _pci("vendor", "vendor", "word", Kind.INFO, "Vendor id"),
    _pci("device_id", "device", "word", Kind.INFO, "Device id"),
    _pci("class", "class", "word", Kind.INFO, "Class code"),
    _pci("revision", "revision", "word", Kind.INFO, "Revision"),
    _pci("enabled", "enable", "number", Kind.STATE, "Users that enabled the function"),
    _pci("numa_node", "numa_node", "number", Kind.INFO, "NUMA node; -1: unknown"),
    _pci("link_speed", "current_link_speed", "decimal", Kind.GAUGE, "Link speed now", "GT/s"),
    _pci("link_width", "current_link_width", "count", Kind.GAUGE, "Lanes in use", "lanes"),
    _pci(
        "link_speed_maximum", "max_link_speed", "decimal", Kind.INFO, "Highest link speed", "GT/s"
    ),
    _pci("link_width_maximum", "max_link_width", "count", Kind.INFO, "Most lanes", "lanes"),
    _pci(
        "aer_correctable",
        "aer_dev_correctable",
        "aer",
        Kind.COUNTER,
        "Correctable errors",
        "errors",
        "TOTAL_ERR_COR",
    ),
    _pci(
        "aer_nonfatal",
        "aer_dev_nonfatal",
        "aer",
        Kind.COUNTER,
        "Uncorrectable errors, not fatal",
        "errors",
        "TOTAL_ERR_NONFATAL",
    ),
    _pci(
        "aer_fatal",
        "aer_dev_fatal",
        "aer",
        Kind.COUNTER,
        "Fatal errors",
        "errors",
        "TOTAL_ERR_FATAL",
    ),
)
