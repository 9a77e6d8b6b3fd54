#!/bin/sh
# The house: who may include whom, and the rules a command can hold. Prints TAP.
cd "${NETWRIGHT_SOURCE:-$(dirname "$0")/../..}" || exit 1
n=0
# forbid NAME LINES: fails when there are lines.
forbid() {
  n=$((n + 1))
  if [ -n "$2" ]; then
    printf 'not ok %d - %s\n' "$n" "$1"
    printf '%s\n' "$2" | sed 's/^/# /'
  else
    printf 'ok %d - %s\n' "$n" "$1"
  fi
}
sources() { find "$@" -name '*.[ch]' -o -name '*.inc' 2>/dev/null; }
# including PATTERN FOLDER...: include lines of these folders that match.
including() {
  pattern=$1
  shift
  for folder in "$@"; do [ -d "$folder" ] && sources "$folder"; done | sort | xargs -r grep -nE "#include *[<\"]$pattern"
}
forbid "engine includes no GLib, GTK, SQLite, cairo" "$(including '(glib|gio|gobject|gtk|gdk|adwaita|sqlite3|cairo|pango|archive)' engine plugins)"
forbid "engine includes no floor above it" "$(including '(data|storage|app|ui)/' engine plugins)"
forbid "data includes neither storage nor app nor ui" "$(including '(storage|app|ui)/' data)"
forbid "storage includes neither data nor app nor ui" "$(including '(data|app|ui)/' storage)"
forbid "app includes no ui and no GTK" "$(including '(ui/|gtk|gdk/|adwaita|cairo|pango)' app)"
forbid "ui includes only app and the rows of engine/op" "$(including '(data|storage)/' ui; including 'engine/' ui | grep -v 'engine/op/')"
forbid "sqlite3.h only in storage" "$(including 'sqlite3' app data ui)"
forbid "archive.h only in data" "$(including 'archive' app storage ui)"
forbid "dnnl.h in one file" "$(including '(oneapi/dnnl/)?dnnl' engine data storage app ui | grep -v '^engine/backend/onednn\.c')"
forbid "jansson.h in one file" "$(including 'jansson' engine data storage app ui | grep -v '^engine/base/json\.c')"
# In the engine a folder includes only folders that stand before it.
order="base tensor op backend kernels ops autograd graph nn io train"
above=$order
bad=
for folder in $order; do
  above=$(printf '%s\n' $above | grep -vx "$folder" | tr '\n' ' ')
  for up in $above; do
    bad="$bad$(including "engine/$up/" "engine/$folder")"
  done
done
# The op table may name what its rows are made of by type, never by include; kernels and backend serve ops.
forbid "engine folders include only those beneath them" "$bad"
forbid "engine neither prints nor exits nor aborts" \
  "$(sources engine | xargs -r grep -nE '(^|[^_a-z])(printf|fprintf|puts|perror|exit|abort) *\(' | grep -vE 'snprintf|nw_[a-z_]*printf' || true)"
forbid "no OpenMP pragmas: loops go through nw_parallel" "$(sources engine data | xargs -r grep -nE '#pragma +omp')"
forbid "files stay below 900 lines" \
  "$(git ls-files '*.c' '*.h' '*.inc' 2>/dev/null | xargs -r wc -l | awk '$2 != "total" && $1 > 900 { print $2 ": " $1 }')"
forbid "every header compiles alone (pragma once)" \
  "$(for h in $(sources app data engine storage ui | grep '\.h$'); do grep -q '#pragma once' "$h" || echo "$h"; done)"
# A given name may be looked up among the rows; a literal one is knowledge of a layer.
forbid "no layer is compared by name outside engine/ops" \
  "$(sources app data storage ui engine/nn engine/train engine/io engine/graph engine/autograd |
  xargs -r grep -nE '(strn?(case)?cmp0?|str_?equal|str_has_prefix) *\(("[^"]*", *[^)]*op->(id|label)|[^)"]*op->(id|label) *, *")' || true)"
echo "1..$n"
