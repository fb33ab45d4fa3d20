# ---- words of a call

are_decimal() { # WORD...: of at most 16 digits
    for w_word in "$@"; do
        case $w_word in '' | *[!0-9]* | 0?* | ?????????????????*) return 1 ;; esac
    done
}

is_name() { # WORD: a plain file name, never a path
    case $1 in '' | .* | *[!A-Za-z0-9._-]*) return 1 ;; esac
    [ ${#1} -le 100 ]
}

above() { # A B: whether decimal A > B, of any size, since some shells count with 32 bits
    [ ${#1} -gt ${#2} ] || { [ ${#1} -eq ${#2} ] && expr "x$1" \> "x$2" >/dev/null; }
}
