"""Settings and claims in a few words, the same in tables, figures, pages and the terminal."""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from fedcert.app.records import ChosenInputs, Claimed, Summary

DATASET_NAMES = {
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "digits": "Digits",
    "heart-disease": "Heart disease",
}
CLASS_MEANINGS = {"heart-disease": " Class 1: diagnosed with heart disease; class 0: not."}
"""What classes stand for, as a sentence."""
RULE_NAMES = {
    "fedavg": "FedAvg",
    "pog": "PoG",
    "wasserstein": "Wasserstein",
    "reverse-kl": "reverse KL",
    "forward-kl": "forward KL",
}
T = TypeVar("T")


def architecture(config: Mapping[str, Any]) -> str:
    """A network in a few letters: depth times width if all hidden layers are equally wide.

    >>> architecture({"hidden": [64, 64]}), architecture({"hidden": [64, 32]}), architecture({"hidden": []})
    ('2×64', '64-32', 'linear')
    >>> architecture({"network": "cnn:8,16/32", "hidden": [32]})
    'cnn:8,16/32'

    Args:
        config: the configuration of a run.
    """
    if is_convolutional(config):
        return str(config["network"])
    widths = list(config["hidden"])
    if len(set(widths)) == 1:
        return f"{len(widths)}×{widths[0]}"
    return "-".join(map(str, widths)) or "linear"


def claim_name(row: Claimed) -> str:
    """A claim in a few words.

    >>> claim_name({"claim": "direct", "rule": "fedavg", "events": "box"})
    'direct · fedavg · box'
    """
    return f"{row['claim']} · {row['rule']} · {row['events']}"


def is_convolutional(config: Mapping[str, Any]) -> bool:
    """Whether the network has convolutions, so that more than widths has to be said of it.

    Args:
        config: the configuration of a run.
    """
    return (config.get("network") or "").startswith("cnn")


def hidden(config: Mapping[str, Any]) -> str:
    """The widths of the hidden layers; a network with convolutions by its name.

    Args:
        config: the configuration of a run.
    """
    if is_convolutional(config):
        return str(config["network"])
    return "×".join(str(width) for width in config["hidden"])


def network_words(config: Mapping[str, Any], layers: str = "hidden") -> str:
    """The network, in the middle of a sentence.

    >>> network_words({"network": "mlp:64,64", "hidden": [64, 64]})
    'hidden 64×64'
    >>> network_words({"network": "cnn:8,16/32", "hidden": [32]})
    'network cnn:8,16/32'

    Args:
        config: the configuration of a run.
        layers: what hidden layers are called.
    """
    return f"{'network' if is_convolutional(config) else layers} {hidden(config)}"


def participants(summary: Summary) -> str:
    """How many clients took part, and out of how many if some did not.

    Args:
        summary: the content of result.json.
    """
    present, expected = len(summary["clients"]), summary["config"]["clients"]
    return f"{present} clients" if present == expected else f"{present} of {expected} clients"


def scale_name(scale: float | str) -> str:
    """A posterior scale as text.

    >>> scale_name(1e-5), scale_name("learned")
    ('1e-05', 'learned')
    """
    return scale if isinstance(scale, str) else f"{scale:g}"


def setting(config: Mapping[str, Any]) -> str:
    """A federation in a few words.

    Args:
        config: the configuration of a run.
    """
    drawn = "" if config["concentration"] is None else f" α\u00a0{config['concentration']:g},"
    return (
        f"{config['dataset']}, {config['clients']} clients,{drawn}"
        f" {network_words(config)}, scale {posterior_scale(config)}"
    )


def posterior_scale(config: Mapping[str, Any]) -> str:
    """The scale of the clients' posteriors, and how they were learned if not by Bayes by Backprop.

    >>> posterior_scale({"posterior": "bbb", "scale": 1e-5})
    '1e-05'
    >>> posterior_scale({"posterior": "ensemble", "members": 3, "scale": "learned"})
    'learned (3 Laplace members)'
    >>> posterior_scale({"posterior": "laplace", "structure": "last-layer-full", "scale": "learned"})
    'learned (Laplace, last-layer-full)'

    Args:
        config: the configuration of a run.
    """
    if config.get("given") is not None:
        return "as sent"
    match config["posterior"]:
        case "laplace":
            structure = config.get("structure", "diag")
            how = " (Laplace)" if structure == "diag" else f" (Laplace, {structure})"
        case "ensemble":
            how = f" ({config['members']} Laplace members)"
        case _:
            how = ""
    return scale_name(config["scale"]) + how


def radius_name(summary: Summary) -> str:
    """What the radius of a run is called in headings: of measurements it counts errors, boxes are widened.

    Args:
        summary: the content of result.json.
    """
    return {"weighted-linf": "error ×", "box": "widened by"}.get(summary["norm"], "radius")


def noun(summary: Summary) -> str:
    """What the bounds of a run are a share of: inputs, boxes with labels, or properties.

    Args:
        summary: the content of result.json.
    """
    if "subject" in summary:
        return "properties"
    return "boxes" if summary["norm"] == "box" else "inputs"


def is_accuracy(summary: Summary) -> bool:
    """Whether the mean bound is a certified accuracy: labels win around inputs that nobody selected.

    Args:
        summary: the content of result.json.
    """
    return noun(summary) == "inputs" and summary["inputs"]["chosen"] != "correct"


def asked(summary: Summary) -> str:
    """What bounds are a share of, in words.

    Args:
        summary: the content of result.json.
    """
    match noun(summary):
        case "inputs":
            return "inputs whose label wins on the whole ball"
        case "boxes":
            return "boxes on the whole of which the label wins"
        case _:
            where = "box" if summary["norm"] == "box" else "ball"
            return f"properties whose constraints C f(x) + d ≥ 0 hold on the whole {where}"


def radius_down(radius: float) -> str:
    """A certified radius, rounded down.

    >>> radius_down(0.02999999), radius_down(0.25)
    ('0.0299', '0.2500')
    """
    return f"{math.floor(Fraction(radius) * 10_000) / 10_000:.4f}"


def distinct(values: Iterable[T]) -> list[T]:
    """Each value once, in order of appearance."""
    return list(dict.fromkeys(values))


def chosen_inputs(inputs: ChosenInputs, noun: str = "inputs") -> str:
    """Which inputs the properties are about, and how they were chosen.

    Args:
        inputs: the entry of result.json.
        noun: what they are, where they were given.
    """
    count, source = f"{inputs['count']:,}", inputs["dataset"]
    of = "" if inputs["available"] is None else f" of {inputs['available']:,}"
    match inputs["chosen"]:
        case "first" if inputs["count"] == inputs["available"]:
            return f"all {count} test inputs of {source}"
        case "first":
            return f"the first {count}{of} test inputs of {source}, as they come"
        case "random":
            return f"{count}{of} test inputs of {source}, drawn at random (seed {inputs['seed']})"
        case "correct":
            return (
                f"{count} test inputs of {source} selected because the mean model classifies them correctly"
            )
        case _:
            return f"{count} {noun} of {source}, as given"
