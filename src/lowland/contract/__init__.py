"""What every method keeps: `Reducer`, the record of a fit, parameters, plans, the registry and plugins.

`reducer` runs every fit in the same order: check parameters, read rows, plan, fit, record. `parameters` holds the
limits of parameters as data; Python checks, ``--set`` and help texts come from it. `method_table` has a row for each
built-in method, `plugins` adds methods of other packages, `registry` finds both. `plan` is `lowland.plan`.
`functions` gives names to the user's functions, by which model files know them.
"""
