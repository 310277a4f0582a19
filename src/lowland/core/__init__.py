"""Errors, messages, settings, threads, memory, costs and arrays. Nothing here depends on a method.

**Threads.** Work is split into tasks that do not depend on the number of threads, each task and each solver runs BLAS
on one thread, and results are combined in order (`thread_pool`). ``random_state=None`` is seed 0 (`random`). The same
data, parameters and seed therefore give the same bits on any number of threads. The memory limit and the installed
extras never change a result; they can only raise an error.

**Messages.** Errors and warnings hold the parameter, method or cell that they name as a part of a `message.Message`.
Its `str` is Python's wording (``n_neighbors=20``); the command line words the parts by its options (``--neighbors 20``)
and leaves out advice that it cannot offer. Neither edits the text of the other.

**Upward references.** Results of lower layers draw themselves through the table in `show`, the only place that names
modules of higher layers.
"""
