"""The messages of proto/, compiled when a test first needs one."""

import subprocess
from functools import cache
from typing import Any

from walrelay_dev.paths import REPOSITORY

from .servers import test_folder


def message_type(name: str) -> Any:
    """The class of a message, which is named with its package: walrelay.admin.v1.Status."""
    factory = _factory()
    return factory.GetPrototype(factory.pool.FindMessageTypeByName(name))


def parse(name: str, text: str) -> Any:
    """Parses JSON as the message `name`; fails if a field is not in the schema."""
    from google.protobuf import json_format
    return json_format.Parse(text, message_type(name)())


@cache
def _factory() -> Any:
    from google.protobuf import descriptor_pb2, message_factory
    compiled = test_folder() / "protobuf_types"
    schemas = sorted((REPOSITORY / "proto").rglob("*.proto"))
    subprocess.run(["protoc", f"--proto_path={REPOSITORY / 'proto'}", "--include_imports",
                    f"--descriptor_set_out={compiled}", *schemas], check=True)
    factory = message_factory.MessageFactory()
    for file in descriptor_pb2.FileDescriptorSet.FromString(compiled.read_bytes()).file:
        factory.pool.Add(file)
    return factory
