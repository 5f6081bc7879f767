"""The messages of proto/walrelay/admin/v1, compiled for this test run."""

import importlib
import subprocess
import sys
from typing import Any

from servers import test_folder
from walrelay_dev.paths import REPOSITORY


def parse(name: str, text: str) -> Any:
    """Parses JSON as the message `name` ("Status" of status.proto); fails if a field is not in the schema."""
    from google.protobuf import json_format
    return json_format.Parse(text, admin_type(name)())


def admin_type(name: str) -> Any:
    folder = test_folder() / "proto"
    if not folder.exists():
        folder.mkdir()
        schemas = sorted((REPOSITORY / "proto" / "walrelay" / "admin" / "v1").glob("*.proto"))
        subprocess.run(["protoc", f"--proto_path={REPOSITORY / 'proto'}", f"--python_out={folder}", *schemas],
                       check=True)
        sys.path.insert(0, str(folder))
    return getattr(importlib.import_module(f"walrelay.admin.v1.{name.lower()}_pb2"), name)
