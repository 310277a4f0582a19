"""What a map shows and what it does not, by method, and how to read the pictures of a method."""

from __future__ import annotations

_LINEAR = (
    "The map is a linear projection, so gaps and sizes are those of the data along the drawn axes. Groups that overlap "
    "here may still be separate along components that are not drawn."
)
_SCALED_PROJECTION = (
    "The map is a linear projection that keeps neighbours together. Near points are near in the data; the axes are "
    "scaled one by one, so sizes of groups and distances between them are not those of the data."
)
_ALIGNED = (
    "The map keeps how each point lies among its neighbours. Its axes are scaled to the same variance, so the size of "
    "a group, the width of a gap and the distance between groups do not carry distance; parts may be stretched or "
    "pressed together."
)
_NEIGHBOURS_ONLY = (
    "Points that are near each other in the map are usually neighbours in the data. Sizes of clusters and gaps between "
    "clusters do not carry distance: {title} spreads dense clusters and evens out gaps, and which cluster is beside "
    "which can change with the seed. A cluster can also come from the settings: repeat the map with others."
)
_DISTANCES = (
    "Distances between points approximate the given distances, so gaps and sizes have a meaning as far as the fit is "
    "good. The map may be rotated or reflected: directions have no meaning of their own."
)

_MEANINGS = {
    "pca": _LINEAR,
    "probabilistic_pca": _LINEAR,
    "truncated_svd": _LINEAR + " The rows are not centred: the first axis often is the size of the rows.",
    "famd": _LINEAR + " Distances are those of standardised numbers and of levels weighted by 1/share.",
    "lpp": _SCALED_PROJECTION,
    "npe": _SCALED_PROJECTION,
    "ica": "Each axis is one independent source, scaled to unit variance. The position along an axis has a meaning; "
    "the order and the sign of axes, and distances across axes, have none.",
    "random_projection": "Distances are those of the data up to a random error, which is large in two or three "
    "dimensions. The axes have no meaning: use the map for computation, not to look for groups.",
    "classical_mds": "Distances between points approximate the given distances from below or above, so gaps and sizes "
    "have a meaning as far as the fit is good. Axes are ordered by the variance of the map.",
    "metric_mds": _DISTANCES,
    "nonmetric_mds": "Only the order of the distances is kept: nearer points are more similar, but a gap that is twice "
    "as wide is not twice the difference. Directions have no meaning of their own.",
    "isomap": "Distances in the map approximate the lengths of shortest paths from neighbour to neighbour, along the "
    "shape of the data. Sizes and gaps have a meaning in this sense; they are not straight distances. A hole can come "
    "from a place without rows.",
    "mvu": "Distances to neighbours are kept, and all other distances are as large as these allow. Gaps between groups "
    "that are hardly connected say little.",
    "lle": _ALIGNED,
    "modified_lle": _ALIGNED,
    "hessian_lle": _ALIGNED,
    "ltsa": _ALIGNED,
    "laplacian_eigenmaps": "Points that are well connected in the neighbour graph are close. A wide gap shows a weak "
    "connection, not a large distance, and sizes of groups have no meaning.",
    "diffusion_maps": "Distances in the map approximate how hard it is to get from one point to another by random "
    "steps between neighbours. Gaps show weak connections; sizes of groups are not their spread in the data.",
    "kernel_pca": "The map is a linear projection in the feature space of the kernel. With a kernel that decreases "
    "with distance, all far points are about equally far, so wide gaps do not carry distance.",
    "som": "Each row is placed on the grid near its best prototype. Neighbouring cells can be far apart in the data: "
    "only the U-matrix shows the gaps. The area of a group shows how many rows it has, not how spread it is.",
    "autoencoder": "Near points are rebuilt as similar rows. Nothing in the training keeps distances: sizes, gaps and "
    "the shape of the cloud depend on the network and its seed.",
    "tsne": _NEIGHBOURS_ONLY,
    "umap": _NEIGHBOURS_ONLY,
}
_UNKNOWN = (
    "Which properties this map keeps depends on its method, which is not known here. The measures below show how far "
    "neighbours and distances agree with the data; where distances are poor, sizes and gaps have no meaning."
)

# How to read each kind of picture.
HOW_TO_READ = {
    "scree": "Each bar is the share of the variance of one component: components before a clear drop describe "
    "structure, a long even tail is mostly noise.",
    "correlation_circle": "Each arrow is a column: its end gives the correlations with the two axes. Arrows near the "
    "circle are shown well (at the dotted circle half of the column's variance); arrows in the same direction are "
    "correlated, in opposite directions negatively correlated, at right angles uncorrelated.",
    "biplot": "Points are rows, arrows are columns: a row far along an arrow has a high value in that column.",
    "loadings": "Each bar is the weight of a column in a component; columns with long bars define the component.",
    "contributions": "Columns above the dashed line contribute more to the axes than an average column.",
    "cos2": "The squared cosine is the share of a row or column that the axes show; low values are not shown well.",
    "shepard": "Each point is a pair of rows: its distance in the data against its distance in the map. A narrow band "
    "along a rising line means that distances can be read from the map.",
    "stress_by_dimension": "The misfit of maps with more dimensions: where the curve flattens, further dimensions add "
    "little.",
    "residual_variance": "The share of the distances along the data that the map does not explain: the bend of the "
    "curve shows how many dimensions are needed.",
    "spectrum": "The eigenvalues of the method in order: a gap after the kept ones means that the map is well "
    "determined; without a gap, axes may rotate or change order with small changes of the data.",
    "u_matrix": "Each cell is coloured by the distance to its neighbouring prototypes: strong colours are gaps "
    "between groups, weak ones are regions of similar rows.",
    "hit_map": "The number of rows in each cell: empty cells lie between groups.",
    "component_planes": "One picture a column: its value in each cell. Columns with similar pictures vary together.",
    "rnx": "The agreement of neighbourhoods, above chance, from the nearest neighbours (left) to the whole data "
    "(right): where the curve is high, the map can be trusted at that scale.",
    "eigenimages": "Each component as an image: along the axis, red pixels become lighter and blue ones darker. In "
    "brackets its share of the variance; at most 16 are drawn. The components are added to the mean image; which of "
    "the two signs a component has is arbitrary.",
    "reconstructions": "Some of the images, rebuilt from more and more components (k), beside the original. What is "
    "still lost at the largest k is not in the coordinates: neither the map nor a model that uses them can know it.",
    "quality_map": "The map, coloured by the share of each point's neighbours in the data that are also its neighbours "
    "in the map.",
}

# The pictures of a report, by method; those of the map itself and of its quality are in every report.
_COMPONENTS = ("scree", "correlation_circle", "biplot")
_OF_COLUMNS = ("correlation_circle", "biplot")  # of images these would show single pixels
_PICTURES: dict[str, tuple[str, ...]] = {
    "pca": _COMPONENTS,
    "probabilistic_pca": _COMPONENTS,
    "truncated_svd": ("scree", "biplot"),
    "famd": ("scree", "correlation_circle"),
    "classical_mds": ("shepard", "spectrum"),
    "metric_mds": ("shepard",),
    "nonmetric_mds": ("shepard",),
    "random_projection": ("shepard",),
    "isomap": ("residual_variance", "spectrum"),
    "mvu": ("spectrum", "rnx"),
    "kernel_pca": ("spectrum", "rnx"),
    "lle": ("spectrum", "rnx"),
    "modified_lle": ("spectrum", "rnx"),
    "hessian_lle": ("spectrum", "rnx"),
    "ltsa": ("spectrum", "rnx"),
    "laplacian_eigenmaps": ("spectrum", "rnx"),
    "diffusion_maps": ("spectrum", "rnx"),
    "lpp": ("spectrum", "biplot"),
    "npe": ("spectrum", "biplot"),
    "som": ("u_matrix", "hit_map", "component_planes"),
    "tsne": ("rnx",),
    "umap": ("rnx",),
    "autoencoder": ("rnx",),
}
OF_ANY_MAP = ("shepard", "rnx")  # drawn from the rows and the map alone


def meaning(method: str | None, title: str) -> str:
    """Return what gaps and sizes mean in a map of a method, by its registered name; None for a method not known.

    >>> meaning("tsne", "t-SNE").split(": ")[0]
    'Points that are near each other in the map are usually neighbours in the data. Sizes of clusters and gaps between \
clusters do not carry distance'
    """
    return _MEANINGS.get(method or "", _UNKNOWN).format(title=title)


def pictures_of(method: str | None, *, images: bool = False) -> tuple[str, ...]:
    """Return the kinds of pictures that a report of a method shows; ``images``: its axes are sums of pixels.

    >>> pictures_of("isomap"), pictures_of(None)
    (('residual_variance', 'spectrum'), ('shepard', 'rnx'))
    >>> pictures_of("pca", images=True)
    ('scree', 'eigenimages', 'reconstructions')
    """
    kinds = _PICTURES.get(method or "", OF_ANY_MAP)
    if not images:
        return kinds
    return (*(kind for kind in kinds if kind not in _OF_COLUMNS), "eigenimages", "reconstructions")
