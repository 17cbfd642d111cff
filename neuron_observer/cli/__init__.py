"""The command line: one module a verb, each imported only when its verb is called."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from neuron_observer import __version__
from neuron_observer.errors import ExitCode, ObserverError

# verb → (module, first line of help); help needs no import of the module
COMMANDS: dict[str, tuple[str, str]] = {
    "stragglers": (
        "neuron_observer.cli.stragglers",
        "Who was slow, in a table of per-rank step times.",
    ),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All verbs, sorted."""
        return sorted(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Import the verb's module and return its `command`."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name][0]).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name][0]}.command is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of verbs, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Health, stragglers and hangs of AWS Trainium and Inferentia machines."""


def main() -> None:
    """Run the command line; exit codes are those of `errors.ExitCode`, usage errors are 64."""
    try:
        code = cli.main(prog_name="neuron-observer", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except ObserverError as error:
        click.echo(f"neuron-observer: {error}", err=True)
        sys.exit(error.exit_code)
    sys.exit(code if isinstance(code, int) else 0)
