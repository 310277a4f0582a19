"""The ground floor: errors, messages, settings, threads, memory, costs, arrays; nothing here knows a method.

**Threads.** Work is cut into pieces that do not depend on the number of threads, each piece and each solver runs BLAS
on one thread, and results are taken in order (`thread_pool`). ``random_state=None`` is seed 0 (`random`). The same
data, parameters and seed therefore give the same bits on any number of threads. Memory and installed extras never
change a result; they only refuse.

**Messages.** Errors and warnings hold the parameter, method or cell that they name as a part of a `message.Message`.
Its `str` is Python's wording (``n_neighbors=20``); the command line words the parts by its options (``--neighbors 20``)
and leaves out advice that it cannot offer. No surface edits the text of another.

**Upward references.** Results of lower floors draw themselves through the table in `show`, the only one that names
what stands above.
"""
