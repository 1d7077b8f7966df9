"""Where the time of one run goes: stages, operations, waiting for the device, and what the machine could do.

FEDCERT_DATA=... python benchmarks/where_time_goes.py --hidden 128,128,128 --clients 5 --device cuda

Runs once to warm up, once for the times, and once under torch's profiler, which counts operations.
"""

import argparse
import resource
import time
from collections import Counter
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from fedcert.app.config import RunConfig, load_config
from fedcert.app.run import RunResult, run

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMemcpyAsync", "aten::_local_scalar_dense")


def main() -> None:
    """Print everything about one configuration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--clients", type=int, default=5)
    parser.add_argument("--hidden", default="128,128,128")
    parser.add_argument("--scale", default="learned")
    parser.add_argument("--concentration", type=float, default=0.5)
    parser.add_argument("--properties", type=int, default=50)
    parser.add_argument("--epsilon", default="0.001")
    parser.add_argument("--events", default="projected")
    parser.add_argument("--inputs", default="correct")
    parser.add_argument("--train-together", action="store_true", default=None)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--times-only", action="store_true", help="skip the run under the profiler")
    settings = {name: own for name, own in vars(parser.parse_args()).items() if own is not None}
    torch.set_num_threads(settings.pop("threads"))
    times_only, device = settings.pop("times_only"), settings["device"]
    print(f"ceilings on {device}: {ceilings(device)}")
    config = load_config(None, settings)
    if device != "cpu":
        once(config, device)
    result, wall, processor = once(config, device)
    print(f"{settings}: {wall:.2f} s, {processor:.2f} s of processor time")
    for stage, seconds in result.timings.items():
        print(f"  {stage:15} {seconds:8.2f} s")
    for own in result.proven:
        claim = own.certificate.claim
        print(
            f"  {claim.kind:11} {claim.rule:6} {claim.events:9} {own.epsilon:g} {own.seconds:8.2f} s", end=""
        )
        print(f"  {own.certificate.lower.mean():.6f}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB", end="")
    print("" if device == "cpu" else f", on the device {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB")
    if not times_only:
        counts(config, device)


def once(config: RunConfig, device: str) -> tuple[RunResult, float, float]:
    """A run, its seconds on the wall and of the processor."""
    start, used = time.perf_counter(), time.process_time()
    result = run(config)
    if device != "cpu":
        torch.cuda.synchronize()
    return result, time.perf_counter() - start, time.process_time() - used


def counts(config: RunConfig, device: str) -> None:
    """Operations, products, launches and waits of a run."""
    with FlopCounterMode(display=False) as flops:
        run(config)
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device != "cpu" else [])
    with profile(activities=activities) as seen:
        run(config)
    events = seen.key_averages()
    named = Counter({event.key: event.count for event in events})
    launches = sum(n for name, n in named.items() if "LaunchKernel" in name)
    waits = {name: named[name] for name in WAITS if named[name]}
    print(f"products: {flops.get_total_flops() / 1e9:.1f} Gflop; launches: {launches}; waits: {waits}")
    print(
        events.table(
            sort_by="self_cpu_time_total" if device == "cpu" else "self_cuda_time_total", row_limit=25
        )
    )


def ceilings(device: str) -> str:
    """What products, copies and launches take at best."""
    rates = []
    for dtype in (torch.float64, torch.float32):
        x = torch.randn(2048, 2048, dtype=dtype, device=device)
        rates.append(
            f"{str(dtype)[6:]} products {2 * 2048**3 / seconds(lambda x=x: x @ x) / 1e9:.0f} Gflop/s"
        )
    y = torch.empty(2**26, dtype=torch.float32, device=device)
    rates.append(f"copies {2 * y.nbytes / seconds(lambda: y.clone()) / 1e9:.0f} GB/s")
    small = torch.ones(8, device=device)
    rates.append(f"an operation on 8 numbers {1e6 * seconds(lambda: small + small, 1000):.1f} µs")
    return ", ".join(rates)


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The mean time of some work, after a first try."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    work()
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    wait()
    return (time.perf_counter() - start) / repeats


if __name__ == "__main__":
    main()
