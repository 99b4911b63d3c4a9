#!/usr/bin/env bash
# The steps of action.yml. The command is downloaded from a release and its attestation is
# verified: it says which workflow of which repository built the archive, for which tag. Nothing
# is run if that fails. SCALEDJOB names a command to run instead.
set -euo pipefail
shopt -s globstar

repository=scaledjob/scaledjob
base="${SCALEDJOB_RELEASES:-https://github.com/$repository/releases}"

say() {
	local text="${2//'%'/%25}"
	text="${text//$'\r'/%0D}"
	echo "::$1::${text//$'\n'/%0A}"
}

fail() {
	say error "$1"
	exit 2
}

# install downloads the release of a tag into a directory, verified.
install() {
	local tag="$1" dir="$2" os arch archive
	if [[ "$tag" == latest ]]; then
		tag="$(curl -fsSLI -o /dev/null -w '%{url_effective}' "$base/latest")" || fail "scaledjob: no latest release at $base"
		tag="${tag##*/}"
	fi
	[[ "$tag" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] ||
		fail "scaledjob: found version '$tag'; use the input version with a release such as v0.1.0, or latest"
	os="$(uname -s | tr '[:upper:]' '[:lower:]')"
	case "$(uname -m)" in x86_64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) fail "scaledjob: no archive for $(uname -m)" ;; esac
	archive="scaledjob_${tag#v}_${os}_${arch}.tar.gz"
	curl -fsSL --retry 2 -o "$dir/$archive" "$base/download/$tag/$archive" || fail "scaledjob: cannot download $archive of $tag"
	command -v gh >/dev/null || fail "scaledjob: found no gh to verify the download; install it, or set SCALEDJOB"
	gh attestation verify "$dir/$archive" --repo "$repository" --signer-workflow "$repository/.github/workflows/release.yaml" \
		--source-ref "refs/tags/$tag" >"$dir/verified" 2>&1 || fail "scaledjob: the attestation of $archive does not verify: $(grep '[^[:space:]]' "$dir/verified" | tail -n 3)"
	tar -xzf "$dir/$archive" -C "$dir" scaledjob || fail "scaledjob: no command in $archive"
}

# within reports whether a path is inside the checkout. It compares inodes on the way up, not names: the
# checkout may itself be a link, and a file system may ignore case.
within() {
	local up="$1"
	[[ -d "$up" ]] || up="$(dirname -- "$up")"
	until [[ "$up" -ef . ]]; do
		if [[ ! -d "$up" || "$up" -ef "$up/.." ]]; then return 1; fi
		up+=/..
	done
}

# linked prints the first element of a path that is a link in the checkout: the author of a pull request
# makes links, also those to directories such as .git. Links of the runner are the workflow's.
linked() {
	local element="" rest="$1/" parent
	while [[ -n "$rest" ]]; do
		parent="${element:-./}"
		element+="${rest%%/*}"
		rest="${rest#*/}"
		if [[ -L "$element" ]] && within "$parent"; then
			printf '%s' "$element"
			return 0
		fi
		element+=/
	done
}

# inside prints the names of files, one after each NUL, unless a link leads out of the checkout, or to the
# credentials in .git: what the command reads may be printed. A name that leads out by itself, such as /tmp/rendered.yaml, is the workflow's.
inside() {
	local name target
	while IFS= read -r -d '' name; do
		if [[ -z "$(linked "$name")" ]] || { target="$(realpath -- "$name" 2>/dev/null)" && within "$target" && [[ "$target" != */.git && "$target" != */.git/* ]]; }; then
			printf '%s\0' "$name"
		else
			say warning "scaledjob: $name leads out of the checkout, or into .git, and is left out" >&2
		fi
	done
}

# names prints the files of the input, one after each NUL: a line is a file, a directory or a
# pattern. A single line may have several, with spaces between them.
names() {
	local line words
	while IFS= read -r line || [[ -n "$line" ]]; do
		line="${line#"${line%%[![:space:]]*}"}"
		line="${line%"${line##*[![:space:]]}"}"
		[[ -n "$line" ]] || continue
		words=("$line")
		if [[ "$1" != *$'\n'*[![:space:]]* && ! -e "$line" ]]; then read -r -a words <<<"$line"; fi
		for word in "${words[@]}"; do
			if [[ ! -e "$word" && "$word" == *[*?[]* ]]; then
				compgen -G "$word" | sort | while IFS= read -r match; do printf '%s\0' "$match"; done
			else
				printf '%s\0' "$word"
			fi
		done
	done <<<"$1"
}

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
scaledjob="${SCALEDJOB:-}"
if [[ -z "$scaledjob" ]]; then
	install "${VERSION:-}" "$work"
	scaledjob="$work/scaledjob"
fi

mapfile -d '' files < <(names "${FILES:-.}" | inside)
[[ ${#files[@]} -gt 0 ]] || fail "scaledjob: no file matches the input files"

flags=(--fail-on "${FAIL_ON:-error}")
if [[ -n "${RELEASE:-}" ]]; then flags+=(--release "$RELEASE"); fi
from="${GITHUB_BASE_REF:+origin/$GITHUB_BASE_REF}"
if [[ "${CONFIG:-}" == base && "${GITHUB_EVENT_NAME:-}" == merge_group ]]; then
	from="$(jq -er .merge_group.base_sha "${GITHUB_EVENT_PATH:-}" 2>&1)" || fail "scaledjob: the event of the merge queue has no base: $from"
fi
if [[ "${CONFIG:-}" == base && -n "$from" ]]; then # a pull request cannot change what is left out
	if ! git rev-parse -q --verify "$from^{commit}" >"$work/said" 2>&1; then
		[[ ! -s "$work/said" ]] || fail "scaledjob: git cannot read $from: $(<"$work/said")"
		fail "scaledjob: the checkout has no $from; use fetch-depth: 0 with config: base"
	fi
	listed="$(git ls-tree --full-tree "$from" .scaledjob.yaml)" || fail "scaledjob: git cannot list $from"
	: >"$work/settings.yaml"
	if [[ -n "$listed" ]]; then git show "$from:.scaledjob.yaml" >"$work/settings.yaml"; fi
	flags+=(--config "$work/settings.yaml")
elif [[ -f .scaledjob.yaml ]]; then
	echo "The settings of .scaledjob.yaml count: exclude and ignore leave findings out."
fi

status=0
if [[ -n "${SARIF:-}" ]]; then
	"$scaledjob" lint "${flags[@]}" -o sarif -- "${files[@]}" >"$work/sarif" 2>"$work/said" || status=$?
	link="$(linked "$SARIF")"
	if [[ -n "$link" ]]; then fail "scaledjob: the checkout has $link, which is a link; use another path for the input sarif"; fi
	if [[ -d "$SARIF" ]]; then fail "scaledjob: the checkout has $SARIF, which is a directory; use another name for the input sarif"; fi
	if [[ -s "$work/sarif" ]]; then mv -- "$work/sarif" "$SARIF" || fail "scaledjob: cannot write $SARIF, the input sarif"; fi
else
	"$scaledjob" lint "${flags[@]}" -o github -- "${files[@]}" 2>"$work/said" || status=$?
fi
while IFS= read -r line; do
	echo "::error::${line//'%'/%25}"
done <"$work/said"
exit "$status"
