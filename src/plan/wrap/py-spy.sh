out=$1; shift
code=$out.code left=$# behind=
while [ "$left" -gt 0 ]; do
  word=$1; shift; left=$((left - 1))
  if [ -z "$behind" ] && [ "$word" = -- ]; then
    behind=1
    set -- "$@" -- sh -c '"$@"; echo $? >"$0"' "$code"
  else
    set -- "$@" "$word"
  fi
done
py-spy record --subprocesses --format speedscope --output "$out" "$@"
ended=$?
[ -s "$code" ] && ended=$(cat "$code")
rm -f "$code"
exit "$ended"
