#!/bin/sh
# A student's server: no process of it takes more memory than the hub grants, and the chapters are
# signed as the student, so that their pictures move at once.
if [ -n "$MEM_LIMIT" ]; then ulimit -d $((MEM_LIMIT / 1024)); fi
"$COURSE_PYTHON" -c "from attn_edu.cli.lab import trust; trust()"
exec "$COURSE_PYTHON" -m jupyterhub.singleuser "$@"
