#!/bin/sh
# A student's server: no process of it takes more memory than the hub grants; the chapters are signed
# as the student, so that their pictures move at once; and JupyterLab does not ask about news.
if [ -n "$MEM_LIMIT" ]; then ulimit -d $((MEM_LIMIT / 1024)); fi
"$COURSE_PYTHON" -c "
from attn_edu.cli.lab import ask_nothing_of_the_network, trust
ask_nothing_of_the_network()
trust()"
exec "$COURSE_PYTHON" -m jupyterhub.singleuser "$@"
