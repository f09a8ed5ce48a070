#!/bin/sh
# Is Claude Code to whoever asks for its version, and never says whether it is logged in.
case "$1" in
--version) echo '2.1.319 (Claude Code)' ;;
--help) printf 'Commands:\n  auth    Manage the login\n' ;;
auth) echo asked > "$HOME/asked" && exec tail -f /dev/null ;;
*) exit 7 ;;
esac
