"""What pytest leaves out when it collects examples from the sources."""

# Importing a module of compiled loops compiles it; none of them has an example.
collect_ignore_glob = ["src/lowland/*_loops.py"]

# `make peers` runs these: they load the tests of other projects.
collect_ignore = ["tests/peers/adapter.py", "tests/peers/run.py"]
