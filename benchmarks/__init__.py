"""Seeded workloads, the peers side by side, and the goals efface has to meet."""
