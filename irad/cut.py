"""A minimum cut in a small directed network (Dinic 1970: shortest augmenting paths, level by level)."""

from __future__ import annotations

from collections import deque


class Network:
    """Nodes are numbered from zero; capacities are integers."""

    INFINITE = 1 << 60

    def __init__(self, nodes: int) -> None:
        self.out: list[list[int]] = [[] for _ in range(nodes)]  # edge numbers; edge ^ 1 is the opposite one
        self.head: list[int] = []
        self.room: list[int] = []

    def edge(self, tail: int, head: int, capacity: int) -> None:
        """Add an edge from `tail` to `head`."""
        for at, to, room in ((tail, head, capacity), (head, tail, 0)):
            self.out[at].append(len(self.head))
            self.head.append(to)
            self.room.append(room)

    def source_side(self, source: int, sink: int) -> set[int]:
        """Send a maximum flow; the nodes that still have room from `source` are its side of a minimum cut."""
        while True:
            level = self._levels(source)
            if level[sink] < 0:
                return {n for n, depth in enumerate(level) if depth >= 0}
            self._saturate(source, sink, level)

    def _levels(self, source: int) -> list[int]:
        level = [-1] * len(self.out)
        level[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for edge in self.out[node]:
                if self.room[edge] > 0 and level[self.head[edge]] < 0:
                    level[self.head[edge]] = level[node] + 1
                    queue.append(self.head[edge])
        return level

    def _saturate(self, source: int, sink: int, level: list[int]) -> None:
        """Augment along paths that descend one level a step until none is left."""
        following = [0] * len(self.out)
        path: list[int] = []
        node = source
        while True:
            if node == sink:
                self._augment(path)
                path.clear()
                node = source
                continue
            edge = self._next_edge(node, level, following)
            if edge is not None:
                path.append(edge)
                node = self.head[edge]
            elif path:
                back = path.pop()
                node = self.head[back ^ 1]
                following[node] += 1
            else:
                return

    def _next_edge(self, node: int, level: list[int], following: list[int]) -> int | None:
        edges = self.out[node]
        while following[node] < len(edges):
            edge = edges[following[node]]
            if self.room[edge] > 0 and level[self.head[edge]] == level[node] + 1:
                return edge
            following[node] += 1
        return None

    def _augment(self, path: list[int]) -> None:
        amount = min(self.room[edge] for edge in path)
        for edge in path:
            self.room[edge] -= amount
            self.room[edge ^ 1] += amount
