"""What a placed plan sends between nodes, as Zhou et al. 2006 define it (Sect. 3.1)."""

from watersmeet.cost.traffic import Traffic, load
from watersmeet.optimize.sites.placement import Tree


def communication_cost(tree: Tree, traffic: Traffic) -> float:
    """Every input that comes about elsewhere. The result stays."""
    sent = sum(load(traffic, part.streams) for part in tree.inputs if part.node != tree.node)
    return sent + sum(communication_cost(part, traffic) for part in tree.inputs)
