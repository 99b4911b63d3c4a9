#!/usr/bin/env bash
# Scans modules for known vulnerabilities: vulnerabilities.sh DIR... The database is the directory
# VULNDB, or vuln.go.dev if that is missing. Modules in KEDA are reported and do not fail.
set -u
if [ -e "$VULNDB/index/modules.json" ]; then
	flags=(-db "file://$VULNDB")
elif curl --silent --fail --max-time 20 --output /dev/null https://vuln.go.dev/index/db.json; then
	flags=()
else
	echo "vulnerabilities: nothing was checked: no database in $VULNDB, and vuln.go.dev is unreachable." >&2
	echo "vulnerabilities: unpack https://vuln.go.dev/vulndb.zip there; use VULNDB=DIRECTORY for another place." >&2
	exit 3
fi
failed=0
for m in "$@"; do
	case " $ALONE " in *" $m "*) export GOWORK=off ;; *) unset GOWORK ;; esac
	echo "vulnerabilities $m"
	(cd "$m" && $GOVULNCHECK "${flags[@]}" ./...) && continue
	case " $KEDA " in
	*" $m "*) echo "vulnerabilities $m: reported above; they come with KEDA" ;;
	*) failed=1 ;;
	esac
done
exit $failed
