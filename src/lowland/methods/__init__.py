"""One file a method, named after it; `lowland.registry` lists them."""
