"""The public functions of PyTorch that the hook follows, each a few lines: a stand-in, no mock.

One rank that computes nothing. What the real ones do is tried by benchmarks/hook_live.py.
"""

from __future__ import annotations

import itertools
import weakref
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Tensor:
    """Has a number of elements."""

    def __init__(self, elements: int = 4) -> None:
        self.elements = elements

    def numel(self) -> int:  # noqa: D102
        return self.elements


class Work:
    """The handle of an asynchronous collective."""

    def wait(self) -> None:  # noqa: D102
        return


class Device:
    """A queue that works on its own clock, which is the host's too: `now`, moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.tail = 100.0  # when all that is queued is done
        self.stuck = False  # nothing is done any more
        self.stream = "default"
        self.stamps_host = False  # as torch-neuronx: an event is when it was recorded
        self.made = 0
        self.broken = ""  # the call that fails
        self.Event = lambda enable_timing=False: Event(self, timing=enable_timing)

    def work(self, seconds: float) -> None:
        """Queue some."""
        self.tail = max(self.tail, self.now) + seconds

    def called(self, name: str) -> None:
        """One of its functions is called."""
        if name == self.broken:
            raise RuntimeError(f"{name} is not supported here")

    def current_stream(self) -> str:  # noqa: D102
        self.called("current_stream")
        return self.stream


class Event:
    """Stands in the queue; done when the device is there."""

    def __init__(self, device: Device, *, timing: bool) -> None:
        device.called("Event")
        device.made += 1
        self.device, self.timing = device, timing
        self.at = self.done_at = 0.0

    def record(self) -> None:  # noqa: D102
        self.device.called("record")
        self.done_at = max(self.device.tail, self.device.now)
        self.at = self.device.now if self.device.stamps_host else self.done_at

    def query(self) -> bool:  # noqa: D102
        self.device.called("query")
        return not self.device.stuck and self.done_at <= self.device.now

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds; a real one waits for what is not done."""
        self.device.called("elapsed_time")
        assert self.timing
        assert end.timing
        assert self.query()
        assert end.query()
        return (end.at - self.at) * 1e3


class Optimizer:
    """Tells every global hook of a step."""

    hooks: dict[int, Callable[..., None]]

    def step(self) -> str:  # noqa: D102
        for hook in list(self.hooks.values()):
            hook(self, (), {})
        return "stepped"


class Module:
    """Has a mode."""

    training = True

    def eval(self) -> Module:  # noqa: D102
        self.training = False
        return self


class LoaderIterator:
    """As `_BaseDataLoaderIter`: every DataLoader's iterator."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = iter(batches)

    def __iter__(self) -> Iterator[Any]:  # noqa: D105
        return self

    def __next__(self) -> Any:  # noqa: D105
        return next(self._batches)


class Compiler:
    """Of torch._dynamo: who is told of compilations."""

    def __init__(self) -> None:
        self.start: list[Callable[..., None]] = []
        self.end: list[Callable[..., None]] = []
        self.register_start_callback, self.remove_start_callback = (
            self.start.append,
            self.start.remove,
        )
        self.register_end_callback, self.remove_end_callback = self.end.append, self.end.remove

    def run(self) -> None:
        """Compile something."""
        for told in (*self.start, *self.end):
            told(SimpleNamespace())


class Parameter(Tensor):
    """Has hooks that are called when its gradient is there."""

    requires_grad = True

    def __init__(self) -> None:
        super().__init__()
        self.hooks: list[Callable[[Any], None]] = []

    def register_hook(self, hook: Callable[[Any], None]) -> Any:  # noqa: D102
        self.hooks.append(hook)
        return SimpleNamespace(remove=lambda: self.hooks.remove(hook))


class Parallel:
    """DistributedDataParallel: reduces at the end of backward, in C++."""

    process_group = None
    require_backward_grad_sync = True

    def __init__(self) -> None:
        self.parameter = Parameter()

    def parameters(self) -> list[Parameter]:  # noqa: D102
        return [self.parameter]


def _collective(name: str, world: SimpleNamespace) -> Callable[..., Any]:
    def call(tensor: Any = None, group: Any = None, async_op: bool = False) -> Any:  # noqa: FBT002 - PyTorch's
        world.calls.append(name)
        if world.during is not None:
            world.during(name)
        return Work() if async_op else None

    return call


def modules() -> dict[str, ModuleType]:
    """Fresh modules by name, as `sys.modules` has them after `import torch`."""
    names = (
        *("torch", "torch.optim.optimizer", "torch.utils.data.dataloader", "torch.distributed"),
        *("torch.distributed._functional_collectives", "torch._dynamo.callback"),
    )
    made = {name: ModuleType(name) for name in names}
    torch, optim, loader, distributed, functional, dynamo = made.values()
    world = SimpleNamespace(calls=[], during=None, backend="gloo", size=2, initialized=True)
    hooks: dict[int, Callable[..., None]] = {}
    numbers = itertools.count()

    def register(hook: Callable[..., None]) -> Any:
        number = next(numbers)
        hooks[number] = hook
        return SimpleNamespace(remove=lambda: hooks.pop(number))

    optim.__dict__.update(
        Optimizer=type("Optimizer", (Optimizer,), {"hooks": hooks}),
        register_optimizer_step_post_hook=register,
    )
    loader.__dict__["_BaseDataLoaderIter"] = type(
        "_BaseDataLoaderIter", (LoaderIterator,), {"__next__": LoaderIterator.__next__}
    )
    core = SimpleNamespace()
    for name in ("all_reduce", "broadcast", "barrier", "send", "_coalescing_manager"):
        call = _collective(name, world)
        setattr(core, name, call)
        setattr(distributed, name, call)

    def recv(tensor: Any = None, group: Any = None) -> int:
        world.calls.append("recv")
        return 1

    def all_gather_object(objects: Any = None, group: Any = None) -> None:
        core.all_reduce(Tensor())
        core.broadcast(Tensor())

    def destroy_process_group(group: Any = None) -> str:
        return "destroyed"

    distributed.__dict__.update(
        destroy_process_group=destroy_process_group,
        recv=recv, all_gather_object=all_gather_object, distributed_c10d=core, world=world,
        is_available=lambda: True, is_initialized=lambda: world.initialized,
        get_rank=lambda: 1, get_world_size=lambda group=None: world.size,  # noqa: ARG005
        get_backend=lambda group=None: world.backend,  # noqa: ARG005
    )  # fmt: skip

    def functional_all_reduce(tensor: Any) -> Any:
        return tensor

    functional_all_reduce.__module__ = functional.__name__
    functional.__dict__["all_reduce"] = functional_all_reduce
    functional.__dict__["traceable_collective_remaps"] = {}
    dynamo.__dict__["callback_handler"] = Compiler()

    _fill_torch(torch, distributed, world)
    return made


def _fill_torch(torch: ModuleType, distributed: ModuleType, world: SimpleNamespace) -> None:
    queued: list[Callable[[], None]] = []

    def backward(*models: Any) -> None:
        """Gradients, then what was queued: ours before the reducer's wait."""
        for model in models:
            for hook in getattr(model, "parameter", Parameter()).hooks:
                hook(None)
        for call in queued:
            call()
        queued.clear()
        if world.during is not None:
            world.during("backward")

    engine = SimpleNamespace(queue_callback=queued.append)
    parallel = type("Parallel", (Parallel,), {"__init__": Parallel.__init__})
    device = world.device = Device()
    torch.__dict__.update(
        Tensor=Tensor, distributed=distributed, compile=lambda function: function,
        save=lambda thing: world.during and world.during("save"),  # noqa: ARG005
        compiler=SimpleNamespace(is_dynamo_compiling=lambda: False),
        get_device_module=lambda: device,
        nn=SimpleNamespace(
            Module=type("Module", (Module,), {"eval": Module.eval}),
            parallel=SimpleNamespace(DistributedDataParallel=parallel),
        ),
        autograd=SimpleNamespace(
            backward=backward, Variable=SimpleNamespace(_execution_engine=engine)
        ),
        utils=SimpleNamespace(hooks=SimpleNamespace(unserializable_hook=lambda hook: hook)),
    )  # fmt: skip


def functions(made: dict[str, ModuleType]) -> dict[str, Any]:
    """Everything that the hook may replace, to be compared with what was there before."""
    torch, distributed = made["torch"], made["torch.distributed"]
    places = {
        "torch": torch, "distributed": distributed, "core": distributed.distributed_c10d,
        "functional": made["torch.distributed._functional_collectives"],
        "autograd": torch.autograd, "module": torch.nn.Module,
        "parallel": torch.nn.parallel.DistributedDataParallel,
        "loader": made["torch.utils.data.dataloader"]._BaseDataLoaderIter,
    }  # fmt: skip
    hooks = {"hooks": dict(made["torch.optim.optimizer"].Optimizer.hooks)}
    handler = made["torch._dynamo.callback"].callback_handler
    compiler = {"dynamo": (list(handler.start), list(handler.end))}
    found = {
        f"{place}.{name}": value
        for place, owner in places.items()
        for name, value in vars(owner).items()
        if callable(value) and not isinstance(value, weakref.ref)
    }
    return {**found, **hooks, **compiler}
