"""What the tests share: servers, the relay as a process, proxies, the workload and its verifier.

The programs of tests/ and bench/ import it from PYTHONPATH, which ctest and `scripts/dev python` set.
"""
