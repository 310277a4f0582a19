"""The methods, a file each, in folders by family; `lowland.contract.method_table` lists them.

`shared` holds what several families need. Graph methods run in one order: distinct points, neighbour graph, connected
components, embedding of each component, placement of new rows. What a graph that is not connected means is decided in
one place (``disconnected``): the shortest links are added, or each component is embedded separately, or the fit is
refused. A method writes ``_embed`` for a connected component, and ``_place`` if new rows are not placed by
barycentric weights.

Methods on pairs are exact up to a documented number of rows and use landmarks above; the error is measured in every
fit. Kernel PCA measures the share of the kernel's trace that its landmarks miss. Classical and nonmetric MDS make a
second map from other landmarks; the disagreement of the two maps divided by √2 estimates the error of one: at 20,000
rows it was 0.52 for a true 0.45 on nearly degenerate city-block distances. New rows go through the same function as
the training rows, so a training row returns its own embedding.
"""
