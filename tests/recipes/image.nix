# nix-build image.nix makes ./result, an image of ./rootfs.
{
  pkgs ? import <nixpkgs> { },
  # mkfatimg's own sources are in ./mkfatimg.
  mkfatimg ? pkgs.rustPlatform.buildRustPackage {
    pname = "mkfatimg";
    version = "0.1.0";
    src = ./mkfatimg;
    cargoLock.lockFile = ./mkfatimg/Cargo.lock;
    # Its tests want programs and file systems that the sandbox has not.
    doCheck = false;
  },
}:
# In the store every file is of 1970, which FAT cannot hold, and SOURCE_DATE_EPOCH is the first day
# that it can; to have another, set both that and --mtime.
pkgs.runCommand "live.img" {
  nativeBuildInputs = [ mkfatimg ];
  rootfs = ./rootfs;
} ''
  mkfatimg --from "$rootfs" --label LIVE --free 16M --mtime 1980-01-01 "$out"
''
