"""The click group: knows its verbs by name and imports one when it is called."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module

import click

from neuron_observer import __version__
from neuron_observer.cli import COMMANDS
from neuron_observer.cli.speech import speak_what_the_terminal_can
from neuron_observer.errors import ExitCode, ObserverError


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


def run() -> None:
    """Run the command line; exit codes are those of `errors.ExitCode`, usage errors are 64."""
    sys.exit(exit_code(sys.argv[1:]))


def exit_code(arguments: list[str], obj: object = None) -> int:
    """Run one call and say how it ended; `obj` is what its context holds for the verb.

    Click's own `main` makes 1 of a reader that went away; for `doctor` that means problems.
    """
    speak_what_the_terminal_can()
    try:
        with cli.make_context("neuron-observer", arguments, obj=obj) as context:
            code = cli.invoke(context)
        if sys.stdout:
            sys.stdout.flush()
    except click.exceptions.Exit as done:  # --help
        return done.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except ObserverError as error:
        click.echo(f"neuron-observer: {error}", err=True)
        return error.exit_code
    except OSError as error:
        return no_output(error)
    return code if isinstance(code, int) else 0


def no_output(error: OSError) -> int:
    """Standard output took no more: `| head` is no error of ours, a full disk is one."""
    with suppress(OSError):  # what is still buffered must not be tried again at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        return ExitCode.OK
    if error.filename is not None:
        raise error
    click.echo(f"neuron-observer: output cannot be written: {error.strerror}", err=True)
    return ExitCode.UNKNOWN
