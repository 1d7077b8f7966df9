"""Examples for the help of each command."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "fedcert run --properties 20 --epsilon 0.01 --out runs/first --check",
        "fedcert run --dataset mnist --clients 5 --concentration 0.5 --hidden 128",
        "fedcert run --posterior laplace --structure last-layer-kron --network cnn:8,16/32",
        "fedcert run --data wards.csv --target ill --client-column ward --errors errors.toml",
        "fedcert run --config runs/first/result.json --out runs/again",
    ),
    "certify": (
        "fedcert certify posterior-*.safetensors --model model.toml --inputs x.npz --epsilon 0.01",
        "fedcert certify --messages inbox --config run.toml --min-clients 4",
        "fedcert certify inbox --model model.onnx --properties spec.vnnlib --out runs/spec",
    ),
    "grid": (
        "fedcert grid --preset miniature --out runs/miniature",
        "fedcert grid --preset mine.toml --engine ray --address auto --out /shared/mine",
        "fedcert grid --preset mine.toml --shard 0/16 --out /shared/mine",
    ),
    "report": ("fedcert report runs/miniature", "fedcert report shard-0 shard-1 --out together"),
    "check": (
        "fedcert check runs/first",
        "fedcert check runs/first --sample 20 --json",
        "fedcert check certificate.safetensors --messages inbox",
    ),
}


def epilog(command: str) -> str:
    """What stands below the help of a command.

    Args:
        command: its name.
    """
    return "\n\n".join(["Examples:", *(f"  $ {line}" for line in EXAMPLES[command])])
