#!/bin/sh
# Builds once into a file and once into a pipe; says where they differ, if they do.
set -eu
mkfatimg --from tree --label TREE tree.img
mkfatimg -q --from tree --label TREE - | cmp - tree.img
