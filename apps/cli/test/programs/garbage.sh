#!/bin/sh
# Prints what no agent prints, and ends as if all were well.
cat >/dev/null
printf 'Segmentation fault\n\033]0;owned\007\033[31mred\n{"half":\n\000\001\n[1,2\n'
