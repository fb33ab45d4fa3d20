#!/bin/sh
# Write the lock files anew from pyproject.toml: versions and hashes, no addresses. Needs uv.
set -eu
command -v uv >/dev/null || { echo "benchrack: make lock needs uv on PATH" >&2; exit 1; }

# write_lock FILE OPTION...
write_lock() {
    file=$1
    shift
    uv export --quiet --format requirements-txt --no-header --no-emit-project "$@" >"$file.new"
    if grep -n '://' "$file.new"; then
        echo "benchrack: $file would hold an address" >&2
        exit 1
    fi
    mv "$file.new" "$file"
}

trap 'rm -f uv.lock' EXIT
write_lock requirements.lock --extra build
write_lock requirements-dev.lock --all-extras
