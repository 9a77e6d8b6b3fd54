#!/bin/sh
# accuracy.sh NETWRIGHT: what a person reaches with the defaults, as README's first commands do it. TAP.
set -u
netwright=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mnist=${NETWRIGHT_MNIST:-$NETWRIGHT_SOURCE/../shared/data/mnist}

# best LOG: the best validation accuracy, in hundredths of a percent
best() {
  grep -o '"val_accuracy": *[0-9.]*' "$1" | awk -F: '{ if ($2 > best) best = $2 } END { printf "%d\n", best * 10000 }'
}

# check NUMBER WORDS WANTED TRAIN-OPTION...
check() {
  number=$1 words=$2 wanted=$3
  shift 3
  begin=$(date +%s)
  "$netwright" train --template simplecnn --history "$work/history" --json "$@" >"$work/log" 2>&1 || cat "$work/log" >&2
  reached=$(best "$work/log")
  echo "# $words: $reached of 10000 right on validation in $(($(date +%s) - begin)) s"
  if [ "${reached:-0}" -ge "$wanted" ]; then echo "ok $number $words"; else echo "not ok $number $words"; fi
}

echo 1..2
check 1 "clothes, 12 epochs" 8000 --data "$NETWRIGHT_SOURCE/share/sample/clothes.zip" --epochs 12
if [ -d "$mnist" ]; then
  check 2 "MNIST, 3 epochs" 9880 --data "$mnist" --optimizer adamw --lr 1e-3 --batch-size 64 --epochs 3
elif [ "${CI:-}" = true ]; then
  echo "not ok 2 MNIST is not at $mnist"
else
  echo "ok 2 MNIST, 3 epochs # SKIP MNIST is not there (NETWRIGHT_MNIST says where)"
fi
