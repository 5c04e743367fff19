#!/bin/sh
# Records what the SDKs of requirements.txt send, in a Python environment of its own. Nothing but PyPI is asked.
set -eu
cd "$(dirname "$0")"
env=$(mktemp -d)
trap 'rm -rf "$env"' EXIT
python3 -m venv "$env"
"$env/bin/pip" install -q -r requirements.txt
export PYTHONDONTWRITEBYTECODE=1
for one in *_bot.py *_app.py; do
	"$env/bin/python" "$one"
done
