# Reads Meson's test log and prints one line a TAP test: "ok - [label] program: test" or "not ok - …". A program that ends
# badly without a failed TAP line counts as one failure.
function finish() {
  if (program != "" && bad && !failed_lines)
    print "not ok - [" label "] " program ": " result
  program = ""
}
/^=+ [0-9]+\/[0-9]+ =+/ { finish(); failed_lines = 0; bad = 0; in_out = 0; next }
/^test: / { program = substr($0, 7); sub(/^ +/, "", program); next }
/^result: / {
  result = substr($0, 9)
  sub(/^ +/, "", result)
  bad = (result !~ /exit status 0/ || result ~ /timeout|killed/)
  next
}
/^-+ stdout -+/ { in_out = 1; next }
/^-+ stderr -+/ { in_out = 0; next }
in_out && /^not ok / {
  failed_lines++
  sub(/^not ok [0-9]+ *-? */, "")
  print "not ok - [" label "] " program ": " $0
  next
}
in_out && /^ok / {
  sub(/^ok [0-9]+ *-? */, "")
  print "ok - [" label "] " program ": " $0
}
END { finish() }
