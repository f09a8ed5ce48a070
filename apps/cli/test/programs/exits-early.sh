#!/bin/sh
# Reads nothing, says why on stderr, and fails.
echo 'cannot open the settings file' >&2
exit 7
