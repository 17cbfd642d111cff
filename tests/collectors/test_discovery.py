"""Finding nodes by name and nearest ancestor."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.collectors.discovery import known_suffixes, locate, moved, suffix_of, walk
from tests.hosts import DEVICE, host_of

_names = st.text("abcdefgh_", min_size=1, max_size=6)


def test_suffix_of_shared_leaves_has_the_folder() -> None:
    """`total` says nothing without the folder it stands in."""
    assert suffix_of("stats/status/success/total") == "success/total"
    assert suffix_of("stats/hardware/sram_ecc_uncorrected") == "sram_ecc_uncorrected"


def test_nearest_core_ancestor_decides_the_scope() -> None:
    """The same leaf below a core and below the device are two nodes."""
    host = host_of(
        {
            f"{DEVICE}/info/architecture/arch_type": b"NDv3\n",
            f"{DEVICE}/neuron_core5/info/architecture/arch_type": b"NCv3\n",
            f"{DEVICE}/x/neuron_core5/y/tensors/total": b"1\n",
            f"{DEVICE}/x/tensors/total": b"2\n",
        }
    )
    tree = walk(host, DEVICE)
    assert tree.cores == {5}
    assert tree.found[None, "arch_type"] == ["info/architecture/arch_type"]
    assert tree.found[5, "arch_type"] == ["neuron_core5/info/architecture/arch_type"]
    assert tree.found[5, "tensors/total"] == ["x/neuron_core5/y/tensors/total"]
    assert tree.found[None, "tensors/total"] == ["x/tensors/total"]


def test_links_are_not_followed_and_loops_end() -> None:
    """A link to the parent is not walked; a known name that is a link is left for reading."""
    host = host_of(
        {f"{DEVICE}/core_count": b"2"},
        {
            f"{DEVICE}/subsystem": "../../../../class/neuron_device",
            f"{DEVICE}/loop": ".",
            f"{DEVICE}/reset": "core_count",
        },
    )
    tree = walk(host, DEVICE)
    assert tree.found[None, "reset"] == ["reset"]
    assert tree.unknown == ["loop"]
    assert not tree.errors


def test_kernel_files_are_generic_and_strange_ones_counted() -> None:
    """power/* is the kernel's; what nobody knows is counted, not read."""
    host = host_of(
        {
            f"{DEVICE}/power/runtime_status": b"unsupported\n",
            f"{DEVICE}/power/control": b"auto\n",
            f"{DEVICE}/uevent": b"",
            f"{DEVICE}/power/utilization": b"POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n",
            f"{DEVICE}/new_metric_7": b"1\n",
            f"{DEVICE}/stats/thermal/temperature": b"45\n",
        }
    )
    tree = walk(host, DEVICE)
    assert tree.generic == 3
    assert tree.unknown == ["new_metric_7"]
    assert tree.thermal == [(None, "stats/thermal/temperature")]
    assert tree.found[None, "utilization"] == ["power/utilization"]


def test_a_folder_that_cannot_be_listed_is_told() -> None:
    """The walk goes on and says what it could not see."""
    tree = walk(host_of({"sys/x": b""}), DEVICE)
    assert tree.errors == [".: No such file or directory"]


def test_moved_names_both_paths() -> None:
    """A node at another place than documented is reported with both."""
    host = host_of({f"{DEVICE}/ecc/sram_ecc_uncorrected": b"0\n", f"{DEVICE}/core_count": b"8"})
    assert moved(walk(host, DEVICE)) == [
        ("stats/hardware/sram_ecc_uncorrected", "ecc/sram_ecc_uncorrected")
    ]


def test_path_map_fills_in_the_core() -> None:
    """A mapped metric needs no discovery."""
    tree = walk(host_of({f"{DEVICE}/core_count": b"8"}), DEVICE)
    path_map = {"core.inferences": "a/{core}/b"}
    assert locate(tree, "core.inferences", "inference_count/total", 3, path_map) == "a/3/b"


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(sorted(known_suffixes("core"))),
        st.lists(_names, max_size=3),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 7),
)
def test_a_node_is_found_wherever_it_stands(places: dict[str, list[str]], core: int) -> None:
    """Any folders between the core and a leaf leave the leaf findable, exactly once."""
    files = {
        "/".join([DEVICE, f"neuron_core{core}", *folders, suffix]): b"1\n"
        for suffix, folders in places.items()
    }
    tree = walk(host_of(files), DEVICE)
    for suffix in places:
        assert tree.found[core, suffix] != []
    listed = [path for paths in tree.found.values() for path in paths]
    assert len(listed) == len(set(listed)) == len(files) - len(tree.unknown)


@settings(max_examples=40)
@given(st.lists(st.lists(_names, min_size=1, max_size=4), max_size=12))
def test_no_tree_breaks_the_walk(paths: list[list[str]]) -> None:
    """A tree of unknown names gives only unknown files."""
    folders = {"/".join(path[:i]) for path in paths for i in range(1, len(path))}
    files = {f"{DEVICE}/{'/'.join(path)}": b"" for path in paths if "/".join(path) not in folders}
    files[f"{DEVICE}/core_count"] = b"2"
    tree = walk(host_of(files), DEVICE)
    assert len(tree.unknown) + len(tree.thermal) + tree.generic == len(files) - 1


@pytest.mark.parametrize(
    "folders",
    [
        {0: "neuron_core0", 1: "neuron_core1"},
        {0: "neuron_core00", 1: "neuron_core01"},
        {0: "die0/neuron_core0", 4: "die1/neuron_core4"},
        {0: "neuron_core0", 1: "die1/neuron_core1"},
        {1: "neuron_core1", 10: "neuron_core10"},
    ],
)
def test_a_glance_finds_each_cores_own_file(folders: dict[int, str]) -> None:
    """However the cores' folders are named and nested, no core gets the file of another."""
    leaf = "stats/status/success/total"
    host = host_of({f"{DEVICE}/{folder}/{leaf}": b"1\n" for folder in folders.values()})
    for thorough in (True, False):
        tree = walk(host, DEVICE, thorough=thorough)
        for core, folder in folders.items():
            assert tree.found[core, "success/total"] == [f"{folder}/{leaf}"]


def test_a_core_with_two_folders_is_ambiguous_at_a_glance_too() -> None:
    """`neuron_core7` and `neuron_core07`: neither is taken."""
    leaf = "stats/status/success/total"
    names = ("neuron_core0", "neuron_core07", "neuron_core7")
    host = host_of({f"{DEVICE}/{name}/{leaf}": b"1\n" for name in names})
    for thorough in (True, False):
        found = locate(walk(host, DEVICE, thorough=thorough), "x", "success/total", 7, {})
        assert sorted(found) == [f"neuron_core07/{leaf}", f"neuron_core7/{leaf}"]


def test_host_memory_is_no_hbm() -> None:
    """The categories of both have the same names; one below the other's folder is not it."""
    host = host_of(
        {
            f"{DEVICE}/neuron_core0/stats/memory_usage/host_mem/tensors/total": b"1\n",
            f"{DEVICE}/cores/a/device_mem/tensors/total": b"2\n",
        }
    )
    tree = walk(host, DEVICE)
    assert (0, "tensors/total") not in tree.found
    assert (None, "tensors/total") not in tree.found
    assert len(tree.unknown) == 2


def test_a_link_beside_the_file_makes_nothing_ambiguous() -> None:
    """A driver that moved a node and left a link for old readers: the file is it."""
    host = host_of(
        {f"{DEVICE}/ecc/sram_ecc_uncorrected": b"0\n"},
        {f"{DEVICE}/stats/hardware/sram_ecc_uncorrected": "../../ecc/sram_ecc_uncorrected"},
    )
    assert walk(host, DEVICE).found[None, "sram_ecc_uncorrected"] == ["ecc/sram_ecc_uncorrected"]


def test_a_folder_named_like_a_node_is_looked_into() -> None:
    """A node that became a folder hides nothing below it."""
    host = host_of({f"{DEVICE}/serial_number/parts/core_count": b"8"})
    tree = walk(host, DEVICE)
    assert tree.found[None, "core_count"] == ["serial_number/parts/core_count"]
    assert tree.found[None, "serial_number"] == ["serial_number"]
