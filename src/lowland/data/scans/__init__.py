"""Tables that are read in blocks and never whole, for data larger than memory.

`scan` opens a file, several files of one table, a zarr array, a URL or a function that returns arrays, and returns a
`TableScan`. Opening reads a header and the first rows. A pass yields new arrays (``arrays``) or data frames
(``frames``), from any row on; memory holds a few of them and does not grow with the table. Files are read and not
mapped: the pages of a mapped file count as memory of the process, and a run on a full machine reads them again.

Each format is a module and a row of ``opening.FORMATS``. Formats of one array extend `ArrayScan`, formats with named
columns `FrameScan`, which chooses columns as `Table.select` does.

The types of a text file are settled by its first megabytes. Later cells are held to them, with an error that names the
line: a type that changed in the middle of a pass would make the rows before it wrong.

Every pass compares size and time of the files with those at opening, after each piece, and the number of rows at the
end. A file that another program still writes is an error, not a shorter table.
"""
