"""The ground floor: errors, settings, threads, memory, costs and arrays; nothing here knows a method."""
