#!/usr/bin/python3
"""`walrelay setup` as a role without superuser rights, on a server of one's own and on those that mimic a platform.

The roles of a platform are ordinary roles here: what the services allow them beyond that is not tested.
"""

import subprocess
from typing import Any

import psycopg2
from walrelay_dev.patience import patient
from walrelay_test.relay_config import relay_environment
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, main, relay_program

OWNER_PASSWORD = "owner"
PASSWORD = "canary '\\:@/%é"

PLATFORMS = {
    "rds": ("rds_superuser", "rds_replication"),
    "aurora": ("rds_superuser", "rds_replication"),
    "cloud-sql": ("cloudsqlsuperuser",),
    "azure": ("azure_pg_admin",),
    "supabase": ("supabase_admin",),
}


class SetupRolesCase(IntegrationTest):
    """Every connection needs a password. The database belongs to a role that may create no slot and no role."""

    settings = {"log_statement": "all"}

    def prepare(self) -> None:
        self.owner, self.role = f"{self.name}_owner", f"{self.name}_relay"
        self.sql(f"CREATE ROLE {self.owner} LOGIN PASSWORD '{OWNER_PASSWORD}'")
        self.sql(f"ALTER DATABASE {self.name} OWNER TO {self.owner}")
        # As on Postgres 15 and later, where the owner of the database may create tables.
        self.sql(f"GRANT CREATE ON SCHEMA public TO {self.owner}")
        self.addCleanup(self.drop_roles)
        self.password_file = test_folder() / f"{self.name}-password"
        self.password_file.write_text(PASSWORD + "\n")
        self.password_file.chmod(0o600)

    def drop_roles(self) -> None:
        self.database.drop_slots()
        # The database is the owner's, and is dropped after this.
        self.sql(f"ALTER DATABASE {self.name} OWNER TO postgres")
        for (role,) in self.sql("SELECT rolname FROM pg_roles WHERE rolname LIKE %s ESCAPE '!'",
                                self.name.replace("_", "!_") + "!_%"):
            self.sql(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}")

    def setup_as(self, user: str, *more: str, password: str = OWNER_PASSWORD, stdin: str = "",
                 code: int = 0) -> tuple[str, str]:
        """Standard output and standard error of `setup --apply`."""
        run = subprocess.run([relay_program(), "setup", "--apply", "--create-table", "--role", self.role,
                              "--dsn", self.postgres.dsn(self.name, user=user), "--slot", self.slot, *more],
                             cwd="/", capture_output=True, text=True, timeout=patient(60), input=stdin,
                             env=relay_environment() | {"PGPASSWORD": password})
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout, run.stderr

    def with_password(self) -> list[str]:
        return ["--password-file", str(self.password_file)]

    def expect_login(self, password: str = PASSWORD) -> None:
        """Checks that the relay's role can log in, with the attributes that it needs."""
        connection = psycopg2.connect(self.postgres.dsn(self.name, user=self.role), password=password)
        with connection.cursor() as cursor:
            cursor.execute("SELECT rolreplication, rolsuper, rolconnlimit FROM pg_roles WHERE rolname = current_user")
            self.assertEqual(cursor.fetchone(), (True, False, 8))
        connection.close()

    def expect_relayed(self) -> None:
        self.start_relay({"source.dsn": self.postgres.dsn(self.name, user=self.role), "source.password": PASSWORD})
        self.sql("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) VALUES (%s, 'k', 'made', '{}')",
                 self.name)
        self.settle()
        self.assertEqual(len(self.published()), 1)


class OwnerCases:
    def test_owner_gets_the_sql_of_what_is_missing(self) -> None:
        script, error = self.setup_as(self.owner, *self.with_password(), code=77)
        self.assertIn("-- done: table public.outbox", script)
        self.assertIn('-- done: publication "walrelay"', script)
        self.assertIn(f"database {self.name}, in this order, as a superuser", script)
        self.assertIn("WR-2017", error)
        for what in (f"slot {self.slot}", f"role {self.role}", f"password of role {self.role}",
                     f"replication privilege of role {self.role}"):
            self.assertIn(what, error)
        # Not half of it: no role, and no slot.
        self.assertEqual(self.sql("SELECT 1 FROM pg_roles WHERE rolname = %s", self.role), [])
        self.assertEqual(self.sql("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", self.slot), [])
        # The output as a whole is the administrator's script.
        self.postgres.psql(script, self.name)
        self.assertIn("-- Nothing to do", self.setup_as(self.owner)[0])
        self.expect_login()
        self.expect_relayed()

    def test_owner_who_may_create_roles_leaves_only_replication(self) -> None:
        self.sql(f"ALTER ROLE {self.owner} CREATEROLE")
        script, error = self.setup_as(self.owner, *self.with_password(), code=77)
        self.assertIn(f"-- done: role {self.role}", script)
        self.assertIn(f"-- done: password of role {self.role}", script)
        missing = script[script.index("-- Missing"):]
        self.assertNotIn("PASSWORD", missing)
        self.assertIn(f'ALTER ROLE "{self.role}" REPLICATION;', missing)
        self.postgres.psql(script, self.name)
        self.assertIn("-- Nothing to do", self.setup_as(self.owner)[0])
        self.expect_login()


class PasswordCases:
    def test_password_is_set_and_in_no_output_and_no_log(self) -> None:
        offset = self.postgres.log.stat().st_size
        output = "".join(self.setup_as("postgres", *self.with_password(), password=self.postgres.password))
        self.expect_login()
        log = self.postgres.log.read_bytes()[offset:].decode(errors="replace")
        self.assertIn(f'ALTER ROLE "{self.role}" PASSWORD', log)
        self.assertNotIn("canary", log + output)
        self.assertNotIn("SCRAM", output)
        self.expect_relayed()

    def test_password_of_an_existing_role_is_changed(self) -> None:
        self.setup_as("postgres", *self.with_password(), password=self.postgres.password)
        output = self.setup_as("postgres", "--password-stdin", password=self.postgres.password, stdin="second\n")[0]
        self.assertIn(f"-- done: password of role {self.role}", output)
        self.expect_login("second")

    def test_password_of_the_configuration_file_is_not_for_another_login(self) -> None:
        file = test_folder() / f"{self.name}.toml"
        file.write_text(f'[source]\ndsn = "host=unused"\npassword_file = "{self.password_file}"\n')
        self.setup_as("postgres", "--config", str(file), *self.with_password(), password=self.postgres.password)
        self.expect_login()

    def test_empty_password_and_open_file_are_refused(self) -> None:
        admin = {"password": self.postgres.password, "code": 78}
        self.assertIn("empty", self.setup_as("postgres", "--password-stdin", **admin)[1])
        self.password_file.chmod(0o644)
        self.assertIn("WR-1005", self.setup_as("postgres", *self.with_password(), **admin)[1])


class PlatformCases:
    def with_roles(self, platform: str) -> str:
        """An administrator as the platform has it: no superuser, may create roles. Owns the database."""
        admin = f"{self.name}_admin"
        for role in PLATFORMS[platform]:
            self.sql(f"CREATE ROLE {role} NOLOGIN NOSUPERUSER")
            self.addCleanup(self.sql, f"DROP ROLE IF EXISTS {role}")
        self.sql(f"CREATE ROLE {admin} LOGIN NOSUPERUSER CREATEROLE PASSWORD '{OWNER_PASSWORD}'")
        for role in PLATFORMS[platform]:
            self.sql(f"GRANT {role} TO {admin} WITH ADMIN OPTION")
        self.sql(f"ALTER DATABASE {self.name} OWNER TO {admin}; GRANT CREATE ON SCHEMA public TO {admin}")
        return admin

    def expect_platform(self, platform: str, *flags: str) -> str:
        """What the service's own extensions would allow is printed, for the administrator of the platform."""
        admin = self.with_roles(platform)
        script, error = self.setup_as(admin, *self.with_password(), *flags, code=77)
        self.assertIn(PLATFORMS[platform][0] if platform != "supabase" else "the role postgres", script)
        self.assertNotIn("superuser in", error)
        self.postgres.psql(script, self.name)
        return script

    def test_rds_grants_its_role(self) -> None:
        script = self.expect_platform("rds")
        # The one privilege that a real Postgres has for this: done, not printed.
        self.assertIn(f'--   GRANT rds_replication TO "{self.role}";', script)
        self.assertEqual(self.sql("SELECT pg_has_role(%s, 'rds_replication', 'member')", self.role), [(True,)])
        self.assertIn("-- Nothing to do", self.setup_as("postgres", password=self.postgres.password)[0])

    def test_aurora_is_named_by_its_flag(self) -> None:
        self.assertIn("GRANT rds_replication", self.expect_platform("aurora", "--platform", "aurora"))

    def test_cloud_sql_grants_the_attribute(self) -> None:
        self.assertIn(f'\nALTER ROLE "{self.role}" REPLICATION;', self.expect_platform("cloud-sql"))

    def test_azure_administrator_grants_the_attribute_to_itself(self) -> None:
        self.assertIn("\nALTER ROLE CURRENT_USER REPLICATION;", self.expect_platform("azure"))

    def test_supabase_is_found_by_its_role(self) -> None:
        self.assertIn(f'\nALTER ROLE "{self.role}" REPLICATION;', self.expect_platform("supabase"))

    def test_printed_script_of_every_platform_runs(self) -> None:
        for platform, roles in PLATFORMS.items():
            with self.subTest(platform):
                for role in roles:
                    self.sql(f"CREATE ROLE {role}")
                script = subprocess.run(
                    [relay_program(), "setup", "--platform", platform, "--role", self.role, "--slot", self.slot],
                    cwd="/", capture_output=True, text=True, check=True, env=relay_environment()).stdout
                self.postgres.psql(script, self.name)
                self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
                self.sql(f"DROP PUBLICATION walrelay; DROP TABLE outbox; DROP OWNED BY {self.role}; DROP ROLE {self.role}")
                for role in roles:
                    self.sql(f"DROP ROLE {role}")


class WalLevelTest(IntegrationTest):
    postgres_options: dict[str, Any] = {"settings": {"wal_level": "replica"}}

    def prepare(self) -> None:
        pass

    def test_settings_of_the_platform_are_named_before_anything_is_changed(self) -> None:
        for flags, text in (((), "ALTER SYSTEM SET wal_level"),
                            (("--platform", "rds"), "rds.logical_replication = 1"),
                            (("--platform", "cloud-sql"), "cloudsql.logical_decoding = on")):
            run = subprocess.run([relay_program(), "setup", "--apply", "--create-table", "--dsn", self.database.dsn, *flags],
                                 cwd="/", capture_output=True, text=True, env=relay_environment())
            self.assertEqual(run.returncode, 78)
            self.assertIn("WR-2008", run.stderr)
            self.assertIn(text, run.stderr)
        self.assertEqual(self.sql("SELECT 1 FROM pg_publication"), [])


class SetupRolesTest(OwnerCases, PasswordCases, PlatformCases, SetupRolesCase):
    postgres_options: dict[str, Any] = {"password": "administrator", "settings": SetupRolesCase.settings}


class SetupRoles13Test(OwnerCases, SetupRolesCase):
    postgres_options: dict[str, Any] = {"major": 13, "password": "administrator", "settings": SetupRolesCase.settings}


class SetupRoles18Test(OwnerCases, SetupRolesCase):
    """The rules for CREATEROLE and REPLICATION changed with version 16."""

    postgres_options: dict[str, Any] = {"major": 18, "password": "administrator", "settings": SetupRolesCase.settings}


if __name__ == "__main__":
    main()
