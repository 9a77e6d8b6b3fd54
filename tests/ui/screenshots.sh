#!/bin/sh
# screenshots.sh BUILDDIR OUTDIR: every page, light and dark, English and Chinese, at 1440×900 and 1024×700.
set -eu
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
NETWRIGHT_SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
export NETWRIGHT_SOURCE GSETTINGS_BACKEND=memory GSK_RENDERER=cairo GTK_A11Y=test DBUS_SESSION_BUS_ADDRESS=disabled: LC_ALL=C.UTF-8
for language in en zh_CN; do
  for size in "1440 900" "1024 700"; do
    for style in light dark; do
      # shellcheck disable=SC2086
      LANGUAGE=$language xvfb-run -a -s '-screen 0 1600x1000x24' "$build/tests/ui/screenshots" \
        "$out" $size $style "$language-${size% *}-$style"
    done
  done
done
