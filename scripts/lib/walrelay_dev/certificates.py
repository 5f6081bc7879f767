"""Certificates for servers on loopback, created with the openssl command."""

import subprocess
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from .postgres import Postgres
from .process import wait_until
from .unprivileged_user import write_file


class Authority:
    """A certificate authority, in an existing folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "ca.pem"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-days", "3650", "-subj", "/CN=walrelay test authority", "-keyout", folder / "ca.key",
                 "-out", self.certificate)
        (folder / "index.txt").touch()
        (folder / "ca.cnf").write_text(
            f"[ca]\ndefault_ca = own\n[own]\ndir = {folder}\ndatabase = {folder}/index.txt\n"
            f"new_certs_dir = {folder}\ncertificate = {self.certificate}\nprivate_key = {folder}/ca.key\n"
            "default_md = sha256\npolicy = any\nrand_serial = yes\nunique_subject = no\n"
            "x509_extensions = server\n[any]\ncommonName = supplied\n"
            "[server]\nsubjectAltName = IP:127.0.0.1,DNS:localhost\n")

    def issue(self, name: str, days: float) -> tuple[Path, Path]:
        """Issues a server certificate for loopback, valid from 300 days ago until `days` from now.

        If `days` is negative, the certificate has expired. Returns the key and the certificate.
        """
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        _openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        _openssl("ca", "-config", self.folder / "ca.cnf", "-batch", "-notext", "-in", request,
                 "-out", certificate, "-startdate", _in_days(-300), "-enddate", _in_days(days))
        return key, certificate


def use_in_postgres(postgres: Postgres, pair: tuple[Path, Path]) -> None:
    """Turns TLS on in a running server, with this key and certificate."""
    for path, setting in zip(pair, ("server.key", "server.crt")):
        write_file(postgres.data / setting, path.read_text(), postgres.data.owner(), 0o600)
    postgres.psql("ALTER SYSTEM SET ssl = on")
    postgres.psql("SELECT pg_reload_conf()")
    wait_until(lambda: postgres.psql("SHOW ssl") == "on", 60, "TLS")


class BrokerKeystore:
    """The file with the key and the certificate of brokers whose secured listener has TLS."""

    def __init__(self, path: Path, pair: tuple[Path, Path]) -> None:
        self._path = path
        self.write(pair)

    def write(self, pair: tuple[Path, Path]) -> None:
        """Replaces the key and the certificate; a broker reads them when it starts."""
        self._path.write_text("".join(part.read_text() for part in pair))
        self._path.chmod(0o644)

    @property
    def kafka_options(self) -> dict[str, Any]:
        """The options of a KafkaCluster."""
        return {"secured": "SSL", "properties": {
            "listener.name.secured.ssl.keystore.type": "PEM",
            "listener.name.secured.ssl.keystore.location": str(self._path)}}


def self_signed() -> tuple[str, str]:
    """A certificate that is its own authority, and its key, as PEM."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = Path(folder, "key"), Path(folder, "certificate")
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                 "/CN=walrelay", "-keyout", key, "-out", certificate)
        return certificate.read_text(), key.read_text()


def _in_days(days: float) -> str:
    return (datetime.now(timezone.utc) + timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, text=True)
