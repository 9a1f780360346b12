"""Code for a fresh Python: from then on no network, and the course's folder cannot be written."""

from attn_edu.cli.environment import ROOT

# Whoever asks the network ends the run, also where an error would have been caught.
NO_NETWORK = """
import os, socket
def refused(*given, **named):
    os.write(2, b"the network was asked")
    os._exit(70)
for name in ("getaddrinfo", "gethostbyname", "create_connection"):
    setattr(socket, name, refused)
socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refused
"""
# root may write wherever it likes, so that the folders of the reader and of the course refuse here
NO_WRITING = f"""
import builtins, io, os
OURS = tuple(map(os.path.abspath, ({str(ROOT)!r}, os.getcwd())))
def refuse(path):
    if not isinstance(path, int) and os.path.abspath(os.fsdecode(path)).startswith(OURS):
        raise PermissionError(13, "cannot be written", str(path))
def guard(function):
    def guarded(path, mode="r", *given, **named):
        flags = os.O_WRONLY | os.O_RDWR | os.O_CREAT
        if mode & flags if isinstance(mode, int) else {{*mode}} & {{*"wax+"}}:
            refuse(path)
        return function(path, mode, *given, **named)
    return guarded
def changing(function):
    def guarded(*paths, **named):
        [refuse(path) for path in paths if isinstance(path, str | bytes | os.PathLike)]
        return function(*paths, **named)
    return guarded
builtins.open = io.open = guard(io.open)
os.open = guard(os.open)
for name in ("mkdir", "rename", "replace", "remove", "unlink", "symlink", "link"):
    setattr(os, name, changing(getattr(os, name)))
"""
