"""How rows reach a fit: `RowSource`, the kinds of rows and columns, and their moments in one pass."""
