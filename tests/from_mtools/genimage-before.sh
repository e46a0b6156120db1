#!/bin/sh
set -eu
rm -rf tmp root && mkdir root
genimage --config genimage.cfg --rootpath root --tmppath tmp --inputpath input --outputpath .
