#!/usr/bin/python3
"""Logins to Kafka with tokens that expire after seconds, from a file, a command and an OIDC provider."""

import base64
import json
import subprocess
import threading
import time
import urllib.parse
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from walrelay_dev.patience import patient
from walrelay_test.servers import test_folder
from walrelay_test.testcase import RECONNECT_SOON, IntegrationTest, RelayProcess, main, relay_program

LIFETIME = 5  # seconds
# librdkafka 2.2 and later log in again on an open connection. Brokers refuse two logins within a second, which only
# tokens that live for seconds cause (Kafka, KafkaChannel.maybeBeginServerReauthentication); librdkafka reconnects.
SECOND_LOGIN = "Request not valid in current SASL state"
SECRET = "canary secret:1"


def encode(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def new_token(lifetime: float = LIFETIME) -> str:
    """A JWT without a signature, which Kafka's default validator accepts until it expires."""
    now = int(time.time())
    return f"{encode({'alg': 'none'})}.{encode({'sub': 'relay', 'iat': now, 'exp': now + lifetime})}."


class TokenEndpoint(ThreadingHTTPServer):
    """An OIDC provider that knows one client, on loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _TokenRequest)
        self.requests: list[dict[str, list[str]]] = []
        self.broken = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token"


class _TokenRequest(BaseHTTPRequestHandler):
    server: TokenEndpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        login = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        known = login == f"relay:{urllib.parse.quote(SECRET)}" and not self.server.broken
        answer = {"access_token": new_token(), "expires_in": LIFETIME} if known else {"error": "invalid_client"}
        self.server.requests.append(urllib.parse.parse_qs(body))
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        pass


class KafkaTokensTest(IntegrationTest):
    """The broker closes a session that has not logged in again for two seconds (KIP-368)."""

    kafka_options: ClassVar[dict[str, Any]] = {"secured": "SASL_PLAINTEXT", "properties": {
        "listener.name.secured.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.secured.oauthbearer.connections.max.reauth.ms": 2000,
        "listener.name.secured.oauthbearer.sasl.jaas.config":
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="broker";'}}

    def setUp(self) -> None:
        super().setUp()
        self.folder = test_folder() / f"{self.name}-tokens"
        self.folder.mkdir()
        self.token_file = self.folder / "token"

    def options(self) -> dict[str, Any]:
        return super().options() | RECONNECT_SOON | {
            "log.level": "debug", "kafka.bootstrap_servers": self.kafka.config.secured_bootstrap,
            "kafka.security_protocol": "SASL_PLAINTEXT", "kafka.sasl_mechanism": "OAUTHBEARER"}

    def write_token(self, token: str) -> None:
        following = self.folder / "next"
        following.touch(0o600)
        following.write_text(token + "\n")
        following.rename(self.token_file)

    def write_command(self, condition: str = "true") -> list[str]:
        """A command that prints a new token if `condition`, a shell command, succeeds."""
        path = self.folder / "print-token"
        encoded = "base64 -w0 | tr -d = | tr /+ _-"
        path.write_text(f"""#!/bin/sh
{condition} || {{ echo canary; echo no identity >&2; exit 5; }}
now=$(date +%s)
header=$(printf '{{"alg":"none"}}' | {encoded})
claims=$(printf '{{"sub":"relay","iat":%d,"exp":%d}}' $now $((now + {LIFETIME})) | {encoded})
echo "$header.$claims."
""")
        path.chmod(0o755)
        return [str(path)]

    def token_endpoint(self) -> tuple[TokenEndpoint, dict[str, Any]]:
        endpoint = TokenEndpoint()
        self.addCleanup(endpoint.server_close)
        self.addCleanup(endpoint.shutdown)
        secret = self.folder / "secret"
        secret.touch(0o600)
        secret.write_text(SECRET)
        return endpoint, {"kafka.oauth.token_endpoint": endpoint.url, "kafka.oauth.client_id": "relay",
                          "kafka.oauth.client_secret_file": str(secret), "kafka.oauth.scope": "kafka"}

    def publish_until(self, relay: RelayProcess, condition: Any, what: str) -> list[int]:
        """Inserts rows one by one, until the condition holds; returns their ids."""
        ids: list[int] = []

        def insert() -> bool:
            ids.append(len(ids) + 1)
            self.outbox.insert(ids[-1])
            self.settle()
            return bool(condition())
        relay.wait_until(insert, 90, what)
        return ids

    def renewals(self, relay: RelayProcess) -> int:
        return len(relay.logs("token_refreshed"))

    def expect_undisturbed(self, relay: RelayProcess, ids: list[int]) -> None:
        self.expect_published(*ids)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)
        for event in ("disconnected", "token_unavailable", "kafka_log"):
            lines = [line for line in relay.logs(event) if line["level"] != "debug" and SECOND_LOGIN not in line["msg"]]
            self.assertEqual(lines, [], event)
        self.assertNotIn("canary", relay.log_text + Path(f"/proc/{relay.pid}/cmdline").read_text())
        self.assertNotIn("eyJ", relay.log_text)  # of a JWT

    def test_tokens_of_a_command_are_renewed_without_a_new_producer(self) -> None:
        relay = self.start_relay({"kafka.oauth.token_command": self.write_command()})
        ids = self.publish_until(relay, lambda: self.renewals(relay) >= 4, "three renewals of the token")
        self.expect_undisturbed(relay, ids)

    def test_tokens_of_an_oidc_provider_are_renewed_without_a_new_producer(self) -> None:
        endpoint, options = self.token_endpoint()
        relay = self.start_relay(options)
        ids = self.publish_until(relay, lambda: self.renewals(relay) >= 3, "two renewals of the token")
        self.expect_undisturbed(relay, ids)
        self.assertEqual(endpoint.requests[0], {"grant_type": ["client_credentials"], "scope": ["kafka"]})

    def test_token_file_is_read_again_when_it_is_replaced(self) -> None:
        self.write_token(new_token())
        relay = self.start_relay({"kafka.oauth.token_file": str(self.token_file)})
        replaced = time.monotonic()

        def renewed() -> bool:
            nonlocal replaced
            if time.monotonic() - replaced > LIFETIME / 2:
                self.write_token(new_token())
                replaced = time.monotonic()
            return self.renewals(relay) >= 4
        ids = self.publish_until(relay, renewed, "three renewals of the token")
        self.expect_undisturbed(relay, ids)

    def test_command_that_fails_at_first_delays_the_login(self) -> None:
        ready = self.folder / "ready"
        # Of the producer's login; without it, that of the reader of progress would fail first.
        relay = self.start_relay({"kafka.oauth.token_command": self.write_command(f"[ -e {ready} ]"),
                                  "pipeline.progress": "off"})
        self.outbox.insert(1)
        line = relay.wait_for_log("token_unavailable", code="WR-4012")
        self.assertIn("exit code 5: no identity", line["msg"])
        relay.wait_until(lambda: "WR-4012" in relay.get("/readyz?verbose")[1], 60, "WR-4012 on /readyz")
        ready.touch()
        relay.wait_for_log("token_available")
        self.expect_published(1)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)
        self.assertNotIn("canary", relay.log_text)

    def test_provider_that_fails_for_longer_than_a_token_lives_costs_no_producer(self) -> None:
        endpoint, options = self.token_endpoint()
        relay = self.start_relay(options)
        self.outbox.insert(1)
        self.settle()
        endpoint.broken = True
        relay.wait_for_log("token_unavailable", code="WR-4012")
        last = datetime.fromisoformat(relay.logs("token_refreshed")[-1]["expires"])
        relay.wait_until(lambda: datetime.now(timezone.utc) > last, 60, "the token to expire")
        self.outbox.insert(2)
        # The broker closes the session that has not logged in again, and refuses the expired token.
        relay.wait_until(lambda: "WR-4012" in relay.get("/readyz?verbose")[1], 90, "WR-4012 on /readyz")
        endpoint.broken = False
        relay.wait_for_log("token_available")
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def test_refused_token_is_replaced_without_a_new_producer(self) -> None:
        self.write_token("not-a-jwt")
        relay = self.start_relay({"kafka.oauth.token_file": str(self.token_file)})
        self.outbox.insert(1)
        relay.wait_until(lambda: "WR-4007" in relay.get("/readyz?verbose")[1], 60, "WR-4007 on /readyz")
        self.write_token(new_token(600))
        self.expect_published(1)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)
        self.assertNotIn("not-a-jwt", relay.log_text)

    def test_other_commands_log_in_as_well(self) -> None:
        relay = self.new_relay({"kafka.oauth.token_command": self.write_command()})
        self.outbox.insert(1)
        for command in (["check"], ["doctor", "--write-probe", self.topic]):
            done = subprocess.run([relay_program(), *command, "--config", relay.config], capture_output=True,
                                  text=True, check=False, timeout=patient(120))
            self.assertNotIn("WR-40", done.stdout + done.stderr, command)
            self.assertRegex(done.stdout, r"(?i)broker", command)
            self.assertNotIn("eyJ", done.stdout + done.stderr, command)


if __name__ == "__main__":
    main()
