"""Seeded workloads, on which efface and other packages are measured, and the goals for efface."""
