"""Sums over any set of live rows in a tree, so that a row can leave from anywhere in O(d^2 log n).

The shape of the tree follows from the ids of the live rows alone, and every sum is made by
addition. So the sums are a function of the live rows, to the last bit.
"""
