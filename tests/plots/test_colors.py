"""Colours of groups: distinct from each other, also for colour-blind readers, and from the grey of missing values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from lowland.explorer.payload import payload
from lowland.plots.style import DARK_PALETTE, PALETTE, THEMES

VISION = {  # matrices of Machado et al. (2009), severity 1, for linear RGB
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(tones: list[str]) -> np.ndarray:
    rgb = np.array([to_rgb(tone) for tone in tones])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Ottosson (2020)."""
    cones = np.array([[0.41222, 0.2119, 0.0883], [0.53633, 0.6807, 0.28172], [0.05145, 0.1074, 0.62998]])
    last = np.array([[0.21045, 1.978, 0.0259], [0.79362, -2.42859, 0.78277], [-0.00407, 0.45059, -0.80868]])
    return np.cbrt(rgb @ cones) @ last


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* under D65."""
    to_xyz = np.array([[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.9503]])
    x = rgb @ to_xyz.T / [0.95047, 1.0, 1.08883]
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.column_stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])])


@pytest.mark.parametrize("name", list(THEMES))
def test_no_colour_of_a_group_looks_like_the_grey_of_missing_values(name: str) -> None:
    look = THEMES[name]
    apart = np.linalg.norm(lab(linear(list(look.palette))) - lab(linear([look.faint])), axis=1)
    assert apart.min() > 20, dict(zip(look.palette, apart.round(1), strict=True))


@pytest.mark.parametrize(
    ("palette", "vision", "least"),
    [
        (PALETTE, "normal", 0.1),
        (PALETTE, "protanopia", 0.0609),
        (PALETTE, "deuteranopia", 0.0668),
        (PALETTE, "tritanopia", 0.05),
        (DARK_PALETTE, "normal", 0.0783),
        (DARK_PALETTE, "protanopia", 0.0609),
        (DARK_PALETTE, "deuteranopia", 0.0707),
        (DARK_PALETTE, "tritanopia", 0.0252),
    ],
    ids=lambda value: "colours" if isinstance(value, tuple) else str(value),
)
def test_colours_of_groups_stay_apart_in_every_vision(palette: tuple[str, ...], vision: str, least: float) -> None:
    seen = oklab(np.clip(linear(list(palette)) @ np.array(VISION[vision]).T, 0, 1))
    apart = np.linalg.norm(seen[:, None] - seen, axis=2) + 9 * np.eye(len(seen))
    assert apart.min() >= least


def test_the_interactive_map_has_the_colours_of_the_figures() -> None:
    assert json.loads(payload(np.zeros((2, 2))))["palette"]["groups"] == list(PALETTE)
