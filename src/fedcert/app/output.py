"""What a run leaves behind: its results, the messages, the certificates and a report."""

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedcert import __version__
from fedcert.app.config import RunConfig
from fedcert.app.journal import PARTS, PROPERTIES, RESULT, Journal, Once, publish
from fedcert.app.report.images import input_image
from fedcert.app.report.page import run_page
from fedcert.app.report.runs import FinishedRun
from fedcert.app.result import Participant, Property, Summary, read_summary
from fedcert.app.run import RunResult
from fedcert.errors import CannotWrite, FedcertError, OutputExists
from fedcert.wire import atomic
from fedcert.wire.message import Message

FOLDERS = ("messages", "certificates")


def say_nothing(text: str) -> None:
    """Drops a notice."""


def carry_out(
    work: Callable[[Once], RunResult],
    folder: Path,
    identity: dict[str, Any],
    overwrite: bool = False,
    notify: Callable[[str], None] = say_nothing,
) -> Summary:
    """Do the work of a run in its folder, or what is left of it; the content of result.json.

    Work that was killed resumes where it stopped, if it has the same identity. An error in the input
    leaves the folder as it was; only what cannot be written keeps what is already done.

    Args:
        work: makes the run, each part once.
        folder: the run's folder.
        identity: what determines the numbers; see `identity_of`.
        overwrite: whether an earlier run, or an unfinished one of another identity, may be replaced.
        notify: is told when a run resumes.
    """
    if publish(folder) and identity.items() <= (summary := read_summary(folder)).items():
        return summary
    check_output(folder, overwrite)
    with Journal(folder, identity, overwrite) as journal:
        if journal.resumed:
            notify(f"resuming the unfinished run in {folder}")
        try:
            result = work(journal.once)
            write_summary(result, journal.folder)
        except FedcertError as error:
            if not (journal.resumed or isinstance(error, CannotWrite)):
                journal.discard()
            raise
        journal.complete()
    return read_summary(folder)


def identity_of(config: RunConfig) -> dict[str, Any]:
    """What determines the numbers of a run: the part of result.json that is known before the run."""
    return {"fedcert": __version__, "config": config.model_dump(mode="json")}


def check_output(folder: Path, overwrite: bool) -> None:
    """Before the work begins: refuse a folder that holds a run, or one that cannot be written.

    Args:
        folder: where the run will be written.
        overwrite: whether an earlier run may be replaced, once the new one is complete.
    """
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK)):
        raise OutputExists(f"{folder}: {existing} is not a folder that can be written: choose another --out")
    for name in FOLDERS:
        if (folder / name).exists() and not (folder / name).is_dir():
            raise OutputExists(f"{folder / name} is a file: choose another --out")
    held = [name for name in PARTS if (folder / name).exists()]
    if held and not overwrite:
        raise OutputExists(
            f"{folder} already holds a run ({', '.join(held)}): choose another --out, or --overwrite"
        )


def write_summary(result: RunResult, folder: Path) -> None:
    """Write the properties, the report and, last, result.json."""
    summary, properties = summarise(result), describe_properties(result)
    atomic.write(folder / "properties.csv", properties_table(result))
    atomic.write(folder / PROPERTIES, json.dumps(properties) + "\n")
    atomic.write(folder / "report.html", run_page(FinishedRun(summary, properties)))
    atomic.write(folder / RESULT, json.dumps(summary, indent=2) + "\n")


def taking_part(message: Message) -> Participant:
    """A client in result.json, with the digest that certificates name its message by."""
    return {"client": message.client, "examples": message.examples, "digest": message.digest}


def summarise(result: RunResult) -> Summary:
    """The content of result.json."""
    config, identity = result.config, identity_of(result.config)
    return {
        "fedcert": identity["fedcert"],
        "config": identity["config"],
        "clients": [taking_part(message) for message in result.messages],
        "refused": dict(result.refused),
        "accuracy": result.accuracy[config.rule],
        "accuracy_by_rule": dict(result.accuracy.items()),
        "summary": [
            {
                "claim": certificate.claim.kind,
                "rule": certificate.claim.rule,
                "events": certificate.claim.events,
                "lower": certificate.mean_lower,
                "upper": certificate.mean_upper,
                "properties": len(certificate.lower),
                "seconds": seconds,
            }
            for certificate, seconds in result.certificates
        ],
        "estimates": [
            {
                "name": estimate.name,
                "rule": estimate.rule,
                "value": estimate.value,
                "samples": estimate.samples,
                "confidence_interval": list(estimate.confidence_interval()),
            }
            for estimate in result.estimates
        ],
        "timings": result.timings,
        "histograms": None if result.histograms is None else result.histograms.tolist(),
    }


def describe_properties(result: RunResult) -> list[Property]:
    """The content of properties.json: what there is to see of each property."""
    survival = {e.rule: e for e in result.estimates if e.name == "attack-survival"}
    inputs = result.inputs.to("cpu")
    return [
        {
            "label": int(inputs.label[i]),
            "image": input_image(inputs.x[i].numpy(), result.image_shape),
            "bounds": [
                {
                    "claim": certificate.claim.kind,
                    "rule": certificate.claim.rule,
                    "events": certificate.claim.events,
                    "lower": certificate.lower[i].item(),
                    "upper": None if certificate.upper is None else certificate.upper[i].item(),
                }
                for certificate, _ in result.certificates
            ],
            "survival": {rule: int(e.successes[i]) / e.samples for rule, e in survival.items()},
            "attacked": bool(result.attacked[i]),
        }
        for i in range(len(inputs))
    ]


def properties_table(result: RunResult) -> str:
    """The content of properties.csv: one row a property and claim."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["property", "label", "claim", "rule", "events", "lower", "upper"])
    for certificate, _ in result.certificates:
        claim = certificate.claim
        uppers = [""] * len(certificate.lower)
        if certificate.upper is not None:
            uppers = [repr(upper) for upper in certificate.upper.tolist()]
        for i, (lower, upper) in enumerate(zip(certificate.lower.tolist(), uppers, strict=True)):
            label = int(result.inputs.label[i])
            writer.writerow([i, label, claim.kind, claim.rule, claim.events, repr(lower), upper])
    return text.getvalue()
