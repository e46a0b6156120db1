# Builds live.img.zst again only when the bytes of live.img have changed.
MAKEFLAGS += -r

live.img.zst: live.img
	zstd -q -f -o $@ $<

# The image is as old as its last change, the stamp as the last look at what it is made of.
live.img: live.stamp ;

# The time is that of the beginning: what changes during the build is newer. The rule in the depfile is
# the image's; here it is the stamp's. It gets its name complete, before the stamp does.
live.stamp: if-changed.mk
	touch $@.new
	mkfatimg -q --if-changed --from rootfs --mtime 2026-11-30 --size 64M --label LIVE \
	  --depfile live.d.new live.img
	sed -i '1s/^live\.img:/live.stamp:/' live.d.new
	mv live.d.new live.d
	mv $@.new $@

-include live.d

# Without the image its stamp counts for nothing.
ifeq ($(wildcard live.img),)
.PHONY: live.stamp
endif
