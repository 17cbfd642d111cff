"""Kernel lines of sound machines: what one event of each kind prints."""

_RESETS = "neuron:nr_reset_thread_fn: nd0: {}"
HARMLESS = (
    ("neuron:npid_attach: pid=4242, slot=1",),
    ("neuron:npid_detach: pid=4242, slot=1",),
    (
        _RESETS.format("initiating TPB reset request 4242"),
        _RESETS.format("reset request 4242 completed"),
    ),
    ("neuron:mc_dump_all_chunks: device regions 5 occupied 9440071680",),
    (
        "neuron:ncdev_scrub: Scrubbing nd0 HBM 1",
        "neuron:ncdev_scrub: Scrub completed for nd0 HBM 1",
    ),
    ("python3 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0",),
    ("usb 1-1: new high-speed USB device number 4 using xhci_hcd",),
)
