"""How many dimensions: what a spectrum says, and what it cannot say."""

from .parallel import parallel_analysis
from .spectrum import Advice, advice

__all__ = ["Advice", "advice", "parallel_analysis"]
