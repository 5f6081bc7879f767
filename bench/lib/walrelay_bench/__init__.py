"""The benchmark: workloads on real servers; every system does the same work in the same run."""
