"""What a run leaves behind: result.json, properties.csv, messages, certificates and a report."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

from fedcert import __version__
from fedcert.artifact import save_certificate
from fedcert.errors import OutputExists
from fedcert.experiments.report import render
from fedcert.experiments.run import RunResult

FILES = ("result.json", "properties.csv", "report.html")
MESSAGES = "messages"
CERTIFICATES = "certificates"


def check_output(folder: Path, overwrite: bool) -> None:
    """Before the work begins: refuse a folder that holds a run, or one that cannot be written.

    Args:
        folder: where the run will be written.
        overwrite: whether an earlier run may be replaced, once the new one is complete.
    """
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK)):
        raise OutputExists(f"{folder}: {existing} is not a folder that can be written: choose another --out")
    for name in (MESSAGES, CERTIFICATES):
        if (folder / name).exists() and not (folder / name).is_dir():
            raise OutputExists(f"{folder / name} is a file: choose another --out")
    held = [name for name in (*FILES, MESSAGES, CERTIFICATES) if (folder / name).exists()]
    if held and not overwrite:
        raise OutputExists(
            f"{folder} already holds a run ({', '.join(held)}): choose another --out, or --overwrite"
        )


def write_run(result: RunResult, folder: Path) -> None:
    """Replace what an earlier run left; result.json comes last, so that a folder with one is complete."""
    summary = summarise(result)
    texts = {
        "properties.csv": properties_table(result),
        "report.html": render(result, summary),
        "result.json": json.dumps(summary, indent=2) + "\n",
    }
    (folder / "result.json").unlink(missing_ok=True)
    for old in (folder / MESSAGES).glob("client-*.safetensors"):
        old.unlink()
    for message in result.messages:
        message.save(folder / MESSAGES / f"{message.client}.safetensors")
    write_certificates(result, folder / CERTIFICATES)
    for name, text in texts.items():
        _write(folder / name, text)


def write_certificates(result: RunResult, folder: Path) -> None:
    """Every certificate that has a witness, for `fedcert check`."""
    for old in folder.glob("*.safetensors"):
        old.unlink()
    rules = {rule.name: rule for rule in result.rules.values()}
    for certificate, _ in result.certificates:
        if certificate.witness is not None:
            claim = certificate.claim
            path = folder / f"{claim.kind}-{claim.rule}-{claim.events}.safetensors"
            rule = rules[claim.rule]
            save_certificate(path, certificate, result.network, result.properties, rule, result.messages)


def summarise(result: RunResult) -> dict[str, Any]:
    """The content of result.json."""
    config = result.config
    return {
        "fedcert": __version__,
        "config": config.model_dump(mode="json"),
        "accuracy": result.accuracy[config.rule],
        "accuracy_by_rule": result.accuracy,
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
    }


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


def _write(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
