"""What every method keeps: `Reducer`, the record of a fit, parameters, plans, the registry and plugins."""
