#!/usr/bin/env bash
# need.sh TOOL...: make sure that each tool is there; install it with apt where that is allowed, else say how.
# Tools: python-venv (Python 3.11+ with venv), java (a JDK, 17+: the vector programs are run from source), maven,
# browser (Chromium and its driver: the audit's report is looked at in it).
set -euo pipefail

PYTHON=${PYTHON:-python3}
missing=()

has_python_venv() { "$PYTHON" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
has_java() { command -v javac >/dev/null && [ "$(java -version 2>&1 | sed -nE '1s/.*"([0-9]+).*/\1/p')" -ge 17 ] 2>/dev/null; }
has_browser() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }
has_maven() { command -v mvn >/dev/null; }

for tool in "$@"; do
  case $tool in
    python-venv) has_python_venv || missing+=(python3-venv) ;;
    java) has_java || missing+=(default-jdk-headless) ;;
    browser) has_browser || missing+=(chromium chromium-driver) ;;
    maven) has_maven || missing+=(maven) ;;
    *) echo "need.sh: unknown tool '$tool'" >&2; exit 2 ;;
  esac
done
[ ${#missing[@]} -eq 0 ] && exit 0

if command -v apt-get >/dev/null; then
  if [ "$(id -u)" = 0 ]; then sudo=(); elif sudo -n true 2>/dev/null; then sudo=(sudo -n); else sudo=(false); fi
  if [ "${sudo[0]-}" != false ]; then
    echo "Installing ${missing[*]} with apt-get" >&2
    if "${sudo[@]}" apt-get update -qq && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null; then
      exit 0
    fi
  fi
fi
echo "Missing: ${missing[*]}. Install with: sudo apt-get install -y ${missing[*]}" >&2
exit 1
