"""Parameters of the module and their defaults (driver 2.24.7 to 2.28, their `module_param`s)."""

from __future__ import annotations

PARAMETERS = {
    "dev_nc_map": "1",
    "dup_helper_enable": "1",
    "force_die_flip": "0",
    "force_userver": "0",
    "mempool_host_memory_size": "33554432",
    "mempool_min_alloc_size": "4096",
    "mempool_small_alloc_max": "524288",
    "mempool_small_pool_size": "1073741824",
    "nc_per_dev_param": "1",
    "nmetric_log_posts": "1",
    "nmetric_metric_post_delay": "150000",
    "no_reset": "0",
    "userver_ctl": "0",
    "userver_etimeout": "600",
    "wc_enable": "1",
}

PARAMETERS_SINCE_28 = {
    "zerocopy_trn1_override": "0",
    "dma_teardown_on_exit": "1",
    "reset_top_dma": "0",
    "pds_reservation_id": "1",
}
