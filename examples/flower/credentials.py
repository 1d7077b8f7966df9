"""Makes what a secure federation on this machine needs: a CA, a server certificate and a key for each node.

python credentials.py FOLDER NODES

For trying out: a real federation has certificates from its own authority, and nodes that make their own keys
and send the public ones to whoever registers them.
"""

import datetime
import ipaddress
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAYS_VALID = 30


def make_credentials(folder: Path, nodes: int) -> None:
    """Write ca.crt, server.pem, server.key, and node-I and node-I.pub for each node.

    Args:
        folder: to be made, readable by its owner alone.
        nodes: how many nodes there are.
    """
    folder.mkdir(mode=0o700, parents=True)
    authority, server = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
    root = _certificate("certified federation", authority, authority, "certified federation", ca=True)
    own = _certificate("localhost", server, authority, "certified federation", ca=False)
    (folder / "ca.crt").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(own.public_bytes(serialization.Encoding.PEM))
    _write_key(folder / "server.key", server, serialization.PrivateFormat.TraditionalOpenSSL)
    for node in range(nodes):
        key = ec.generate_private_key(ec.SECP384R1())
        _write_key(folder / f"node-{node}", key, serialization.PrivateFormat.OpenSSH)
        public = key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
        (folder / f"node-{node}.pub").write_bytes(public)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    issuer: str,
    ca: bool,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]
    return (
        x509
        .CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=DAYS_VALID))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .sign(signer, hashes.SHA256())
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat) -> None:
    content = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    path.touch(mode=0o600)
    path.write_bytes(content)


if __name__ == "__main__":
    make_credentials(Path(sys.argv[1]), int(sys.argv[2]))
