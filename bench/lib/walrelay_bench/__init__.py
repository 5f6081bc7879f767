"""The benchmark: scenarios over real servers, each system on the same work in the same run."""
