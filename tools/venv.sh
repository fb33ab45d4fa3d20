#!/bin/sh
# Make .venv hold what a lock file names, and this project; does nothing where it already does.
#   tools/venv.sh LOCK
# VENV: another folder than .venv. PYTHON: another interpreter than the first fitting one on PATH.
set -eu
lock=$1
venv=${VENV:-.venv}

fail() {
    echo "benchrack: $1" >&2
    exit 1
}

fitting_python() {
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    fail "Python 3.11 or later is needed, and not on PATH; install it, or set PYTHON to its path"
}

stamp=$venv/installed.${lock##*/}.$(cat "$lock" pyproject.toml | cksum | tr -d ' ')
[ ! -e "$stamp" ] || exit 0
echo "benchrack: setting up $venv from $lock (once; about half a minute)" >&2

if [ ! -x "$venv/bin/python" ]; then
    python=$(fitting_python)
    if command -v uv >/dev/null; then
        uv venv --quiet --python "$python" "$venv"
    elif ! "$python" -m venv "$venv" 2>/dev/null; then
        # Debian without python3-venv cannot give the environment a pip of its own
        "$python" -m venv --clear --without-pip "$venv" ||
            fail "$python cannot make a virtual environment; on Debian: apt install python3-venv"
    fi
fi

if command -v uv >/dev/null; then
    set -- uv pip install --quiet --python "$venv/bin/python"
elif [ -x "$venv/bin/pip" ]; then
    set -- "$venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input install
else
    set -- "$(fitting_python)" -m pip --python "$venv/bin/python" --quiet --no-input install
fi
"$@" --require-hashes -r "$lock" ||
    fail "what $lock names could not be installed; is the package index within reach?"
# the lock holds the build requirements too, so that nothing unhashed is fetched for this step
"$@" --no-deps --no-build-isolation --editable . ||
    fail "the project itself could not be installed into $venv"
rm -f "$venv/installed.${lock##*/}."*
touch "$stamp"
