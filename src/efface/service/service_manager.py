"""Tells systemd that the service is ready, alive and stopping (sd_notify)."""

from __future__ import annotations

import os
import socket


def notify(state: str) -> bool:
    """Send a state such as ``READY=1`` to the socket that the service manager named.

    >>> notify("READY=1")  # without a service manager nothing is sent
    False
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    name = f"\0{address[1:]}" if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as found:
        try:
            found.sendto(state.encode("ascii"), name)
        except OSError:  # the manager is gone, or busy: its own limits decide
            return False
    return True
