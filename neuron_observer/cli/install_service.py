"""`install-service`: the units that run the daemon, for the interpreter and package in use."""

from __future__ import annotations

import os
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.configured import chosen_file, config_of, rule_paths
from neuron_observer.errors import HostError, UsageError
from neuron_observer.service import units
from neuron_observer.service.commands import imports_of, is_active, systemd_runs, systemd_version
from neuron_observer.service.plan import activating, installing, removing, take
from neuron_observer.service.trust import ROOT_ONLY, below, changeable, out_of_reach, visited

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.service.plan import Step
    from neuron_observer.service.trust import Weakness

_NAMED = 5  # weak paths that are named; the rest is counted
_DONE = {
    "write": "wrote",
    "replace": "wrote anew",
    "keep": "as it is",
    "remove": "removed",
    "run": "ran",
}


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--uninstall", is_flag=True, help="Stop and remove it; state and settings stay.")
@click.option(
    "--with",
    "drop_ins",
    metavar="LIST",
    help=f"Which of {', '.join(units.DROP_INS)} (or none); without it those that are there stay.",
)
@click.option(
    "--prefix",
    metavar="DIR",
    help="Where the interpreter is that the service runs: DIR/bin/python; else the one in use.",
)
@click.option(
    "--root",
    "image",
    default="/",
    metavar="DIR",
    help="The root of an image to install into; nothing is started then.",
)
def command(
    *, dry_run: bool, uninstall: bool, drop_ins: str | None, prefix: str | None, image: str
) -> None:
    """Install the daemon as a hardened systemd service, or remove it.

    Refuses what others than root could change: the interpreter, the package, the folders that lead
    there, configuration and rules. Running it again changes nothing that is as it should be.
    """
    root = Path(image).resolve()
    here = root == Path("/")
    if here and os.geteuid() and not dry_run:
        raise UsageError(
            "installing a service takes root",
            remedy=f"sudo {sys.executable} -m neuron_observer install-service; --dry-run does not.",
        )
    live = here and systemd_runs()
    if uninstall:
        _take_all(removing(root, running=live), dry_run=dry_run)
        _say_what_stays(root)
        return
    chosen = _chosen(drop_ins)
    if chosen and "reload" in chosen and here:
        _check_version()
    interpreter = f"{prefix.rstrip('/')}/bin/python" if prefix else _interpreter(here=here)
    _check_trust(interpreter, root, here=here)
    steps = installing(root, interpreter, chosen)
    if live:
        steps += activating(steps, active=is_active(units.SERVICE))
    _take_all(steps, dry_run=dry_run)
    _say_what_next(live=live, here=here)


def _interpreter(*, here: bool) -> str:
    return sys.executable if here else f"{units.PREFIX}/bin/python"


def _chosen(drop_ins: str | None) -> tuple[str, ...] | None:
    if drop_ins is None:
        return None
    names = tuple(name.strip() for name in drop_ins.split(",") if name.strip() != "none")
    for name in names:
        if name not in units.DROP_INS:
            known = ", ".join(units.DROP_INS)
            raise UsageError(f"--with {name}: unknown", remedy=f"Known: {known}; none.")
    return names


def _check_version() -> None:
    version = systemd_version()
    if version is not None and version < units.RELOAD_SINCE:
        raise UsageError(
            f"--with reload: systemd {version} does not know Type=notify-reload and would run the"
            " daemon without waiting for it",
            remedy=f"It takes systemd {units.RELOAD_SINCE}; `systemctl reload` works without, too.",
        )


def _check_trust(interpreter: str, root: Path, *, here: bool) -> None:
    """`HostError` if anybody but root may change what the service runs and reads."""
    base = str(root)
    owners = ROOT_ONLY if here else {*ROOT_ONLY, os.geteuid()}  # who builds an image may own it
    if here:
        imports = imports_of(interpreter)
        package, folders = imports.package, imports.folders
    else:
        package, folders = _in_image(interpreter, root), (_prefix(interpreter),)
    _refuse(out_of_reach(visited(interpreter, base), base))
    _refuse(out_of_reach(visited(package, base), base))
    settings = [f"/{units.CONFIGURATION}", *(_named_in_settings() if here else ())]
    paths = [*visited(interpreter, base)]
    for path in (*folders, *settings, f"/{units.UNITS}", f"/{units.ENVIRONMENT}"):
        paths += visited(path, base)
    for path in (*folders, *settings):
        paths += below(f"{base.rstrip('/')}{path}")
    _refuse(changeable(dict.fromkeys(paths), owners, base))


def _named_in_settings() -> list[str]:
    """What the configuration names outside its own folder; `ConfigError` if it is wrong."""
    config = config_of(chosen_file(None, of_this_machine=True))
    web = [config.web.config_file] if config and config.web.config_file else []
    named = [*rule_paths(config), *web]
    for path in named:
        _refuse(out_of_reach(visited(path)))
    return named


def _prefix(interpreter: str) -> str:
    return str(Path(interpreter).parent.parent)


def _in_image(interpreter: str, root: Path) -> str:
    """Where the package is in an image, whose interpreter may not run here."""
    prefix = _prefix(interpreter)
    found = (root / prefix.lstrip("/")).glob("lib/python3*/site-packages/neuron_observer")
    package = next(found, None)
    if package is None:
        raise HostError(
            f"{root}: no package neuron_observer below {prefix}",
            remedy="Install it into the image first, or say with --prefix where it is.",
        )
    return f"/{package.relative_to(root)}"


def _refuse(weaknesses: Iterable[Weakness]) -> None:
    found = list(islice(weaknesses, 1000))
    if not found:
        return
    lines = [f"{each.path}: {each.why}" for each in found[:_NAMED]]
    if len(found) > _NAMED:
        lines.append(f"and {len(found) - _NAMED}{'' if len(found) < 1000 else ' or'} more")
    remedies = "; ".join(dict.fromkeys(each.remedy for each in found[:_NAMED]))
    raise HostError(
        "a service would run what others than root can change, or what its user cannot reach:\n  "
        + "\n  ".join(lines),
        remedy=f"{remedies}. docs/install.md installs under {units.PREFIX}, where all is root's.",
    )


def _take_all(steps: Iterable[Step], *, dry_run: bool) -> None:
    """Each is told when it is done, so that what failed is the one after the last told."""
    for step in steps:
        if not dry_run:
            take(step)
        verb = f"would {step.what}" if dry_run and step.what != "keep" else _DONE[step.what]
        click.echo(f"{verb:13} {step.target}")


def _say_what_next(*, live: bool, here: bool) -> None:
    click.echo()
    for line in _next_steps(live=live, here=here):
        click.echo(line)


def _next_steps(*, live: bool, here: bool) -> Iterator[str]:
    if live:
        yield "See it:  systemctl status neuron-observer; curl -s http://127.0.0.1:9744/readyz"
        yield "Scrape:  http://127.0.0.1:9744/metrics (other machines: docs/install.md)"
    elif here:
        yield "systemd does not run here. Where it does, all is in force after"
        yield f"         systemctl enable --now {' '.join(units.SOCKETS)} {units.SERVICE}"
    else:
        yield "Enable it in the image:"
        yield f"         systemctl --root=DIR enable {' '.join(units.SOCKETS)} {units.SERVICE}"
    yield f"Set:     /{units.ENVIRONMENT}, /{units.CONFIGURATION}/config.yaml"
    yield "Upgrade: pip install --upgrade as at first, then systemctl restart neuron-observer"


def _say_what_stays(root: Path) -> None:
    kept = [units.STATE, units.CONFIGURATION, units.ENVIRONMENT]
    there = [str(root / path) for path in kept if (root / path).exists()]
    click.echo()
    click.echo(f"Left where they are: {', '.join([*there, 'the user neuron-observer'])}")
    if there:
        click.echo(f"To be rid of them too: rm -r {' '.join(there)}; userdel neuron-observer")
