#!/bin/sh
# board/acme/post-image.sh of a BR2_EXTERNAL tree, named by
#   BR2_ROOTFS_POST_IMAGE_SCRIPT="$(BR2_EXTERNAL_ACME_PATH)/board/acme/post-image.sh"
# Buildroot sets BINARIES_DIR and the rest, and with BR2_REPRODUCIBLE also SOURCE_DATE_EPOCH.
set -eu
board=$BR2_EXTERNAL_ACME_PATH/board/acme

# The boot partition: what Buildroot made, and what the board adds to it.
mkfatimg -q \
  --from "$BINARIES_DIR/Image:/" \
  --from "$BINARIES_DIR/acme-board.dtb:/" \
  --from "$board/boot" \
  --size 32M --label BOOT "$BINARIES_DIR/boot.vfat"

# The disk around it and rootfs.ext4: genimage's part. It copies the folder that it takes for the
# root, so it gets an empty one.
empty=$(mktemp -d)
rm -rf "$BUILD_DIR/genimage.tmp"
genimage --config "$board/genimage.cfg" --rootpath "$empty" --tmppath "$BUILD_DIR/genimage.tmp" \
  --inputpath "$BINARIES_DIR" --outputpath "$BINARIES_DIR"
rmdir "$empty"
