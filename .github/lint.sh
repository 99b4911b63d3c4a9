#!/usr/bin/env bash
# The step of action.yml. Without SCALEDJOB, the command is installed: a released version if
# VERSION is one, else the source beside this file.
set -euo pipefail
scaledjob="${SCALEDJOB:-}"
if [[ -z "$scaledjob" ]]; then
	bin="$(mktemp -d)"
	if [[ "${VERSION:-}" == v*.*.* ]]; then
		GOBIN="$bin" go install "github.com/scaledjob/scaledjob/cmd/scaledjob@$VERSION"
	else
		go build -C "$ACTION/cmd/scaledjob" -o "$bin/scaledjob" .
	fi
	scaledjob="$bin/scaledjob"
fi
read -r -a files <<<"$FILES"
flags=(--fail-on "$FAIL_ON")
if [[ -n "${RELEASE:-}" ]]; then
	flags+=(--release "$RELEASE")
fi
if [[ -n "${SARIF:-}" ]]; then
	exec "$scaledjob" lint "${flags[@]}" -o sarif "${files[@]}" >"$SARIF"
fi
exec "$scaledjob" lint "${flags[@]}" -o github "${files[@]}"
