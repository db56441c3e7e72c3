#!/bin/sh
# A scripted proposer: a correct hand-written design, garbage, an edit of a frozen line, a wrong kernel.
# Usage: proposer.sh SOLUTION.cu COUNTER; the prompt is read and ignored.
cat > /dev/null
echo x >> "$2"
directive='DIRECTIVE: LSA · producer-fused · global barrier · thread · per tile'
case $(wc -l < "$2") in
  1) echo "$directive"; echo 'BECAUSE: written by hand'; echo '```cuda'; cat "$1"; echo '```' ;;
  2) echo 'I am sorry, I cannot help with that.' ;;
  3) echo "$directive"; echo '```cuda'; sed 's/extern "C" int cuco_run/int cuco_run/' "$1"; echo '```' ;;
  *) echo "$directive"; echo '```cuda'; sed 's/sum\[i\]\[j\] += ra/sum[i][j] -= ra/' "$1"; echo '```' ;;
esac
