"""The table of data sets, one row each: what the source documents print or name, and what is needed to repeat them."""

from __future__ import annotations

from typing import Any

from .dataset import Dataset, RemoteFile

_FACTS = "numbers printed in a publication"
_OWN = "BSD-3-Clause, as Lowland"
_UCI = "CC BY 4.0"
_LECTURE = "point set of a lecture on PCA, repeated with its printed"
_SEED: dict[str, Any] = {"random_state": 0}

PARTS = {  # values of the parameter `part`, the default first
    "cities": ("distances", "places"),
    "usps": ("all", "train", "test"),
    "cranfield": ("documents", "counts", "queries", "judgements"),
}


def _bundled(name: str, size: str, shows: str, source: str, **more: Any) -> Dataset:
    return Dataset(name, size, shows, source, _FACTS, "bundled", "bundled:load", **more)


def _generated(name: str, size: str, shows: str, source: str, /, **more: Any) -> Dataset:
    more = {"loader": "generated:points", **more}
    return Dataset(name, size, shows, source, _OWN, "generated", **more)


_PRINTED = (
    _bundled(
        "smith",
        "10 × 2",
        "The worked example of PCA: covariance, eigenvalues 1.284 and 0.0491, eigenvectors, scores.",
        "L. I. Smith, A tutorial on Principal Components Analysis (2002)",
    ),
    _bundled(
        "three_points",
        "3 × 2",
        "Three points with a redundant dimension: (1, 0), (2, 0.1), (3, -0.1).",
        "M. Sugiyama, Advanced Data Analysis: PCA (lecture, Tokyo Institute of Technology)",
    ),
    _bundled(
        "eigenvector",
        "2 × 2",
        "A matrix, kept with its eigenvector (3, 2) of eigenvalue 4.",
        "example of a lecture on PCA and SVD",
        aside=("vector",),
        target="vector",
    ),
    _bundled(
        "terms",
        "10 × 5",
        "A bag of words: ten documents, five terms, two concepts (databases, regression).",
        "R. Borela, CS4641B Machine Learning, lecture 13 (Georgia Tech, 2020)",
        aside=("document",),
        advice="--method truncated_svd",
    ),
    _bundled(
        "two_concepts",
        "7 × 5",
        "Documents and terms of rank 2: SVD separates computer science from medicine (singular values 9.64, 5.29).",
        "numbers of F. Korn, H. V. Jagadish, C. Faloutsos, SIGMOD 1997; the words of Faloutsos' lectures on SVD",
        aside=("document", "subject"),
        target="subject",
        advice="--method truncated_svd",
    ),
    _bundled(
        "deerwester",
        "9 × 12",
        "Nine titles, twelve terms: the first example of latent semantic indexing (singular values 3.34, 2.54, …).",
        "S. Deerwester et al., Indexing by latent semantic analysis, JASIS 41 (1990)",
        aside=("document", "subject"),
        target="subject",
        advice="--method truncated_svd",
    ),
    _bundled(
        "lab",
        "9 × 7",
        "Blood values: correlations that are hard to see in the numbers. This is the printed part (9 people, 7 values) "
        "of a table of 65 people and 53 values that is not available; wine is a whole laboratory table.",
        "R. Borela, CS4641B Machine Learning, lecture 13 (Georgia Tech, 2020)",
        aside=("person",),
        advice="--method pca --scale",
    ),
)

_FROM_SKLEARN = (
    Dataset(
        "iris",
        "150 × 4",
        "Three species of iris, four lengths: a map of two dimensions separates them.",
        "R. A. Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936)",
        _UCI,
        "scikit-learn",
        "from_sklearn:flowers",
        aside=("species",),
        target="species",
    ),
    Dataset(
        "wine",
        "178 × 13",
        "Chemical analyses of wines of three cultivars: values in different units, which move together.",
        "M. Forina et al., PARVUS (1988); UCI Machine Learning Repository",
        _UCI,
        "scikit-learn",
        "from_sklearn:wines",
        aside=("cultivar",),
        target="cultivar",
        advice="--method pca --scale",
    ),
    Dataset(
        "digits",
        "1797 × 64",
        "Handwritten digits of 8 × 8 pixels: images as rows, ten groups.",
        "E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI (1998), test part",
        _UCI,
        "scikit-learn",
        "from_sklearn:handwritten",
        aside=("digit",),
        target="digit",
        form="images",
        image=(8, 8),
        grey=(0.0, 16.0),
        advice="--method umap",
    ),
)

_PLANE = (
    _generated(
        "line",
        "200 × 2",
        "A straight line: one component explains nearly all variance.",
        f"{_LECTURE} eigenvalues 0.0938, 0.0007",
        parameters={"n": 200, "noise": 0.03, "eigenvalues": (0.0938, 0.0007), **_SEED},
        aside=("place",),
        target="place",
    ),
    _generated(
        "bent_line",
        "200 × 2",
        "A bent line: one component explains most variance, although the structure is not linear.",
        f"{_LECTURE} eigenvalues 0.1260, 0.0054",
        parameters={"n": 200, "noise": 0.015, "eigenvalues": (0.1260, 0.0054), **_SEED},
        aside=("place",),
        target="place",
    ),
    _generated(
        "circle",
        "200 × 2",
        "A circle: PCA needs two components for data with one dimension. Compare with square.",
        f"{_LECTURE} eigenvalues 0.0884, 0.0725",
        parameters={"n": 200, "noise": 0.02, "eigenvalues": (0.0884, 0.0725), **_SEED},
        aside=("angle",),
        target="angle",
        advice="--method laplacian_eigenmaps",
    ),
    _generated(
        "square",
        "200 × 2",
        "Random points of a square: the spectrum is almost that of circle, but there is no structure.",
        f"{_LECTURE} eigenvalues 0.0881, 0.0769",
        parameters={"n": 200, "eigenvalues": (0.0881, 0.0769), **_SEED},
    ),
    _generated(
        "cloud",
        "100 × 2",
        "A cloud with its best line: variance along (1, 0.3) and along the optimum (1, 0.45).",
        f"{_LECTURE} mean (0.54, 0.52) and direction (1, 0.45); its eigenvalues are not printed",
        parameters={"n": 100, "mean": (0.54, 0.52), "direction": (1.0, 0.45), "eigenvalues": (0.04, 0.008), **_SEED},
    ),
    _generated(
        "correlated",
        "200 × 2",
        "Two variables with a given correlation: positive, 0 or negative.",
        "the three pictures of correlation in M. Sugiyama's lecture on PCA",
        parameters={"n": 200, "correlation": 0.8, **_SEED},
    ),
    _generated(
        "hidden_classes",
        "200 × 2",
        "Two long parallel clouds: the first principal component mixes the classes, the second separates them.",
        "after pictures in lectures that warn of PCA before a classifier",
        parameters={"n": 200, "length": 4.0, "gap": 2.0, **_SEED},
        aside=("class",),
        target="class",
    ),
)

_SPACE = (
    _generated(
        "spheres",
        "1000 × 3",
        "Two concentric spheres: PCA does not separate them, a Gaussian kernel does, a polynomial one does less well.",
        "Q. Wang, Kernel PCA and its Applications in Face Recognition and Active Shape Models (2012), arXiv:1207.3538",
        parameters={"n": 1000, "radii": (40.0, 100.0), "noise": 0.0, **_SEED},
        aside=("sphere",),
        target="sphere",
        advice="--method kernel_pca --set kernel=rbf",
    ),
    _generated(
        "swiss_roll",
        "1000 × 3",
        "A rolled sheet: distances along it differ from straight lines through space.",
        "J. B. Tenenbaum, V. de Silva, J. C. Langford, Science 290 (2000)",
        parameters={"n": 1000, "noise": 0.0, **_SEED},
        aside=("arc_length", "height"),
        target="arc_length",
        advice="--method isomap",
    ),
    _generated(
        "swiss_hole",
        "1000 × 3",
        "A rolled sheet with a hole: flat but not convex, so that Isomap distorts it and Hessian LLE does not.",
        "D. L. Donoho, C. Grimes, Hessian eigenmaps, PNAS 100 (2003)",
        parameters={"n": 1000, "noise": 0.0, **_SEED},
        aside=("arc_length", "height"),
        target="arc_length",
        advice="--method hessian_lle",
    ),
    _generated(
        "s_curve",
        "1000 × 3",
        "A sheet bent into an S, which locally linear embedding flattens and PCA does not.",
        "L. K. Saul, S. T. Roweis, An introduction to locally linear embedding (2000)",
        parameters={"n": 1000, "noise": 0.0, **_SEED},
        aside=("arc_length", "height"),
        target="arc_length",
        advice="--method lle",
    ),
    _generated(
        "fishbowl",
        "1000 × 3",
        "A sphere without its top: a map can keep angles but not distances; the points are dense near the rim.",
        "V. de Silva, J. B. Tenenbaum, Global versus local methods in nonlinear dimensionality reduction, NIPS (2003)",
        parameters={"n": 1000, "cap": 0.1, "noise": 0.0, **_SEED},
        aside=("disc_x", "disc_y"),
        target="disc_x",
        advice="--method laplacian_eigenmaps",
    ),
    _generated(
        "punctured_sphere",
        "1000 × 3",
        "A sphere without a cap, evenly covered: not flat, so that no map keeps all distances.",
        "after L. K. Saul, S. T. Roweis, Think globally, fit locally, JMLR 4 (2003)",
        parameters={"n": 1000, "cap": 0.25, "noise": 0.0, **_SEED},
        aside=("plane_x", "plane_y"),
        target="plane_x",
        advice="--method lle",
    ),
    _generated(
        "cities",
        "22 × 22",
        "Distances of European cities in km: scaling recovers the map. The part 'places' has latitudes and longitudes.",
        "great-circle distances of the cities' coordinates",
        parameters={"part": "distances"},
        aside=("city",),
        form="distances",
        loader="generated:distances",
        advice="--method classical_mds --set metric=precomputed --id city",
    ),
    _generated(
        "sphere_in_cube",
        "20 × 3",
        "The curse of dimensionality: the volume of the sphere inscribed in the unit cube, 1, 0.79, 0.52, … → 0.",
        "M. Sugiyama, Advanced Data Analysis: PCA (lecture, Tokyo Institute of Technology)",
        parameters={"dimensions": 20},
        loader="generated:volumes",
    ),
)

_FETCHED = (
    Dataset(
        "letter",
        "20000 × 16",
        "Printed capital letters described by 16 numbers: a map of many groups that overlap.",
        "P. W. Frey, D. J. Slate, Machine Learning 6 (1991); UCI Machine Learning Repository",
        _UCI,
        "fetched",
        "pictures:letters",
        aside=("letter",),
        target="letter",
        files=(
            RemoteFile(
                "letter-recognition.data",
                "https://archive.ics.uci.edu/ml/machine-learning-databases/letter-recognition/letter-recognition.data",
                "sha256:2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
                712_565,
            ),
        ),
    ),
    Dataset(
        "olivetti",
        "400 × 4096",
        "Faces of 40 people, 64 × 64 pixels: eigenfaces, and faces rebuilt from few components.",
        "AT&T Laboratories Cambridge (F. Samaria, A. Harter, 1994); file of S. Roweis, as fetched by scikit-learn",
        "free for research with acknowledgement; no licence stated",
        "fetched",
        "pictures:faces",
        aside=("person",),
        target="person",
        form="images",
        image=(64, 64),
        files=(
            RemoteFile(
                "olivettifaces.mat",
                "https://ndownloader.figshare.com/files/5976027",
                "sha256:b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
            ),
        ),
    ),
    Dataset(
        "usps",
        "9298 × 256",
        "Handwritten postal codes, 16 × 16 pixels from -1 to 1: denoising by linear and kernel PCA. "
        "Parts: 'train' (7291) and 'test' (2007).",
        "Y. LeCun et al., Neural Computation 1 (1989); files of the LIBSVM data collection",
        "none stated; distributed for research",
        "fetched",
        "pictures:postal_digits",
        parameters={"part": "all"},
        aside=("digit", "split"),
        target="digit",
        form="images",
        image=(16, 16),
        grey=(-1.0, 1.0),
        files=(
            RemoteFile(
                "usps.bz2",
                "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.bz2",
                "md5:ec16c51db3855ca6c91edd34d0e9b197",
            ),
            RemoteFile(
                "usps.t.bz2",
                "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.t.bz2",
                "md5:8ea070ee2aca1ac39742fdd1ef5ed118",
            ),
        ),
    ),
    Dataset(
        "cranfield",
        "1400 texts",
        "Abstracts on aerodynamics, for search by meaning. Parts: 'counts', their words as a sparse matrix; 'queries', "
        "225 questions; 'judgements', query (by its position), document, relevance from 1 (best) to 4.",
        "C. Cleverdon, Cranfield 1400; distributed by the University of Glasgow",
        "none stated; distributed for research",
        "fetched",
        "cranfield:collection",
        parameters={"part": "documents"},
        aside=("document",),
        form="texts",
        files=(
            RemoteFile(
                "cran.tar.gz",
                "http://ir.dcs.gla.ac.uk/resources/test_collections/cran/cran.tar.gz",
                "md5:1730f7be572d95a5a4b56c59a7b900a5",
                506_960,
            ),
        ),
    ),
)

DATASETS = (*_PRINTED, *_FROM_SKLEARN, *_PLANE, *_SPACE, *_FETCHED)
