"""walrelay to a listener with TLS and a password, compressing with lz4."""

from walrelay_bench.environment import PASSWORD, Environment
from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, TLS, password, lz4"
    workloads = ("drain", "steady-1000", "steady-5000")

    def __init__(self, name: str, environment: Environment) -> None:
        super().__init__(name, environment)
        password = self.scratch / "password"
        password.write_text(PASSWORD)
        password.chmod(0o600)
        self.settings = ("kafka.security_protocol=SASL_SSL", "kafka.sasl_mechanism=PLAIN", "kafka.sasl_username=bench",
                         f"kafka.sasl_password_file={password}", f"kafka.ssl_ca_file={environment.certificate}",
                         "kafka.compression=lz4")

    @property
    def bootstrap(self) -> str:
        return self.environment.kafka.config.secured_bootstrap
