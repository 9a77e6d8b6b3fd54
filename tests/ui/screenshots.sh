#!/bin/sh
# screenshots.sh BUILDDIR OUTDIR: every page, light and dark, English and Chinese, at 1440×900 and 1024×700. Fails when a
# picture is missing or empty.
set -eu
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
NETWRIGHT_SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
export NETWRIGHT_SOURCE GSETTINGS_BACKEND=memory GSK_RENDERER=cairo GTK_A11Y=test GDK_DEBUG=gl-disable LC_ALL=C.UTF-8
export DBUS_SESSION_BUS_ADDRESS=disabled:
rm -f "$out"/*.png
for language in en zh_CN; do
  LANGUAGE=$language xvfb-run -a -s '-screen 0 1600x1000x24' "$build/tests/ui/screenshots" "$out" "$language" >"$out/log-$language.txt" 2>&1 ||
    { cat "$out/log-$language.txt" >&2; exit 1; }
  for page in welcome data-empty data design train-ready train train-finished history-one history export design-resnet; do
    for look in 1440-light 1440-dark 1024-light 1024-dark; do
      picture=$out/$page-$language-$look.png
      [ -s "$picture" ] || { echo "There is no $picture" >&2; exit 1; }
    done
  done
done
echo "$(ls "$out"/*.png | wc -l) pictures in $out"
