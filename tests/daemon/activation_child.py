"""A process that was handed sockets: says as JSON what it took, answers one connection a socket."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from neuron_observer.daemon.activation import inherited_sockets
from neuron_observer.errors import UsageError


def main() -> None:
    """LISTEN_PID=own stands for the number of this process, which its parent cannot know."""
    if os.environ.get("LISTEN_PID") == "own":
        os.environ["LISTEN_PID"] = str(os.getpid())
    try:
        taken = inherited_sockets(os.environ, os.getpid())
    except UsageError as error:
        print(json.dumps({"error": error.message, "remedy": error.remedy}))  # noqa: T201 - its answer
        return
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"],
        capture_output=True,
        text=True,
        check=True,
        close_fds=False,
    )
    told = {
        "names": [each.name for each in taken],
        "families": [each.sock.family.name for each in taken],
        "left": sorted(name for name in os.environ if name.startswith("LISTEN_")),
        "child": json.loads(child.stdout),
    }
    print(json.dumps(told), flush=True)  # noqa: T201 - its answer
    for each in taken:
        connection, _ = each.sock.accept()
        connection.sendall(each.name.encode())
        connection.close()


if __name__ == "__main__":
    main()
