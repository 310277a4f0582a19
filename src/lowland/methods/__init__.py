"""The methods, a file each, in folders by family; `lowland.contract.registry` lists them."""
