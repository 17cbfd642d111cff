"""Options that stand alike at every verb."""

from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from neuron_observer.cli.configured import chosen_file
from neuron_observer.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.live import MonitorFeed


NODES = "neuron_observer.nodes"  # in the context: every URL of --connect

Function = TypeVar("Function", bound="Callable[..., object]")


class Simulated(NamedTuple):
    """What `--simulate`, `--instance` and `--driver` ask for."""

    scenario: str
    instance: str | None
    driver: str | None


def simulation_options(function: Function) -> Function:
    """`--simulate`, `--instance` and `--driver`: kept in the context, where `open_host` finds them.

    So a verb has them without knowing of them.
    """
    for option in (
        click.option(
            "--driver",
            "simulated_driver",
            metavar="VERSION",
            expose_value=False,
            callback=_remember,
            help="Driver of the simulated host: 2.24.7, 2.28 or 2.30.2.",
        ),
        click.option(
            "--instance",
            "simulated_instance",
            metavar="TYPE",
            expose_value=False,
            callback=_remember,
            help="Instance type of the simulated host, e.g. trn1.32xlarge.",
        ),
        click.option(
            "--simulate",
            "simulated_scenario",
            metavar="[SCENARIO]",
            is_flag=False,
            flag_value="healthy",
            expose_value=False,
            callback=_remember,
            help="Read a simulated host instead: a scenario's name or file, healthy by default;"
            " NAME@SECONDS begins so far into it. `simulate --list` names them.",
        ),
    ):
        function = option(function)
    return function


def _remember(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[f"neuron_observer.{parameter.name}"] = value


def _remember_flag(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    if value:
        context.meta[f"neuron_observer.{parameter.name}"] = "yes"


def simulation_asked() -> Simulated | None:
    """What the running command was asked to simulate; None: it reads a real host."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    scenario, instance, driver = (
        context.meta.get(f"neuron_observer.simulated_{name}")
        for name in ("scenario", "instance", "driver")
    )
    if scenario is None:
        if instance or driver:
            raise UsageError("--instance and --driver belong to --simulate", remedy="Add it.")
        return None
    if context.get_parameter_source("host_root") is click.core.ParameterSource.COMMANDLINE:
        raise UsageError("--simulate and --host-root name two hosts", remedy="Leave one out.")
    return Simulated(scenario, instance, driver)


def host_options(function: Function) -> Function:
    """`--host-root`, `--config`, `--all-devices` and those of a simulation.

    A verb is given the file that counts: without `--config` that of this machine, if it has one.
    """
    function = simulation_options(_with_chosen_file(function))
    for option in (
        click.option(
            "--all-devices",
            is_flag=True,
            help="Show devices too that have no /dev node in this container.",
        ),
        click.option(
            "--config",
            "config_file",
            metavar="FILE",
            envvar="NEURON_OBSERVER_CONFIG",
            help="Configuration (YAML), with conf.d/*.yaml beside it; by itself"
            " /etc/neuron-observer/config.yaml, unless a capture or a simulation is read.",
        ),
        click.option(
            "--host-root",
            default="/",
            show_default=True,
            metavar="DIR|FILE",
            envvar="NEURON_OBSERVER_HOST_ROOT",
            help="Root of the host: a directory that holds sys/ and proc/, or a capture.",
        ),
    ):
        function = option(function)
    return function


def connect_options(function: Function) -> Function:
    """`--connect` and `--ca-file`: kept in the context, where `cli.asking` finds them."""
    return _connecting(function, "Ask a daemon instead: {}", several=False)


def nodes_options(function: Function) -> Function:
    """The same where several daemons may be named."""
    return _connecting(
        function, "Ask a daemon instead, or several side by side: {} May be repeated.", several=True
    )


def _connecting(function: Function, text: str, *, several: bool) -> Function:
    forms = (
        "http://HOST:PORT, https://HOST:PORT, unix:///PATH. User and password come from ~/.netrc."
    )
    for option in (
        click.option(
            "--ca-file",
            metavar="FILE",
            expose_value=False,
            callback=_remember,
            help="Who vouches for the certificate of an https URL (PEM).",
        ),
        click.option(
            "--connect",
            metavar="URL",
            multiple=several,
            expose_value=False,
            callback=_remember_all if several else _remember,
            help=text.format(forms),
        ),
    ):
        function = option(function)
    return function


def _remember_all(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> None:
    if values:
        _remember(context, parameter, values[0])
        context.meta[NODES] = values


def direct_option(function: Function) -> Function:
    """`--direct`, of verbs that ask this machine's daemon where there is one."""
    return click.option(
        "--direct",
        is_flag=True,
        expose_value=False,
        callback=_remember_flag,
        help="Read this host here and now, also where a daemon could answer.",
    )(function)


def is_of_this_machine(host_root: str) -> bool:
    """Whether a host is looked at that is there: no capture, no simulation."""
    return simulation_asked() is None and os.path.isdir(host_root)  # noqa: PTH112 - as below


def _with_chosen_file(function: Function) -> Function:
    @wraps(function)
    def configured(*, host_root: str, config_file: str | None, **others: Any) -> object:
        chosen = chosen_file(config_file, of_this_machine=is_of_this_machine(host_root))
        return function(host_root=host_root, config_file=chosen, **others)

    return cast("Function", configured)


def rules_option(function: Function) -> Function:
    """`--rules`."""
    return click.option(
        "--rules",
        "extra",
        multiple=True,
        type=click.Path(exists=True),
        help="Rules of your own (a file or a directory): they add, or change what has their id.",
    )(function)


def kubelet_option(function: Function) -> Function:
    """`--kubelet`."""
    return click.option(
        "--kubelet",
        is_flag=True,
        help="Ask the kubelet's pod-resources socket for names of pods"
        " (needs neuron-observer[kubernetes]).",
    )(function)


def monitor_option(function: Function) -> Function:
    """`--monitor`."""
    return click.option(
        "--monitor",
        default="off",
        show_default=True,
        metavar="off|pipe|FILE|child",
        help="Where reports of neuron-monitor come from: standard input, a file or FIFO that it is"
        " writing to (what comes from now on), or a child of ours (it attaches to the devices; of a"
        " capture: those in it).",
    )(function)


def monitor_feed(monitor: str, host_root: str) -> MonitorFeed | None:
    """What `--monitor` names; a child runs on this machine, so only this machine may be read."""
    if monitor == "off":
        return None
    from neuron_observer.live import MonitorFeed  # noqa: PLC0415 - costs yaml

    if monitor == "pipe":
        return MonitorFeed("pipe")
    if monitor == "child":
        if os.path.isdir(host_root) and os.path.realpath(host_root) != "/":  # noqa: PTH112 - as below
            raise InputError(
                f"--monitor child cannot be had for {host_root}",
                remedy="A child reports on this machine: leave --host-root out, or name a FILE.",
            )
        return MonitorFeed("child")
    if not os.path.exists(monitor):  # noqa: PTH110 - as below
        raise InputError(
            f"{monitor}: no such file", remedy="--monitor takes off, pipe, child or a FILE."
        )
    return MonitorFeed("file", monitor)
