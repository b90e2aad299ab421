#!/usr/bin/env bash
# check.sh CHECK.py FILE: runs a check over the source tree that FILE, linked here, lies in.
exec python3 -B "$1" "$2"
